/* The search: depth first over configurations, each visited once. */

#include "windowed_search.h"

/* Operations of unknown outcome of one type. */
typedef struct {
    int32_t type;
    int blind;
    size_t first, count;       /* where its members are, and how many */
    size_t word;               /* where the used ones are counted */
    unsigned shift;
    uint64_t one, field;       /* 0 if it may have happened any number of times */
    size_t forgotten;          /* how many of it were, if so */
} Group;

typedef struct {
    int32_t type;
    int32_t until; /* the last return of one of them, + 1 */
} Seer;

typedef struct {
    PyObject_HEAD
    Operations *operations;
    int busy, broken;
    /* Windows. */
    size_t returns;
    int64_t *order;            /* return -> position */
    int64_t *calls;            /* acknowledged positions in order of call */
    size_t *called;            /* return -> how many of them were called by then */
    int32_t *slot;             /* position -> slot */
    size_t slots, mask_words;
    /* Unknown outcomes. */
    Group *groups;             /* first those that may have happened any number of times */
    size_t group_count, unlimited_count;
    Map unlimited_from;        /* state -> place in `unlimited`: how many lead on, and which */
    int32_t *unlimited;
    size_t unlimited_used, unlimited_room;
    int64_t *members;          /* positions, group by group */
    size_t *since;             /* the first return that does not precede the call */
    size_t used_words;
    uint64_t *guards;
    /* Types that are no blind writes, those that are there longest first. */
    Seer *seers;
    size_t seer_count;
    Map seen;                  /* state -> the last return at which somebody may see it, + 1 */
    /* The configuration that is being looked at. */
    size_t index;
    int32_t state;
    int idle;                  /* the last choice: an unknown blind write that nobody has seen */
    size_t cursor;             /* which choice comes next */
    uint64_t *mask, *used;
    uint64_t *mutators, *observers; /* masks of slots open at the index */
    int64_t *occupant;         /* slot -> position */
    /* The way to it. */
    uint64_t *stack;
    size_t stack_room, depth, stride;
    int64_t *path, *longest;
    size_t path_room, longest_room, longest_depth, shared, reached;
    int stale;
    /* What was visited: records of (state and index, mask, used), and a table of them. */
    uint64_t *records;
    size_t records_room, record_words;
    uint32_t *next;            /* the next record with the same state, index and mask */
    size_t next_room;
    uint64_t *table;           /* high half of the hash, then the record's number + 1 */
    size_t table_size, heads;
    size_t record_count, configurations;
    /* By levels. A record goes on with flags and how many unknown were used, and whence it came. */
    int by_levels;
    uint32_t *queue;           /* the next record that waits in the same place */
    size_t queue_room;
    uint32_t *waiting;         /* index -> the first that waits for that level */
    uint32_t *at_count;        /* unknowns used -> the first that waits in this level */
    size_t count, unknown_count, farthest;
    /* Where an order is written to, if it is asked for. */
    int64_t *emitted;
    size_t emitted_count;
} Search;

#define SEERS_ASKED 64
#define DOMINATED UINT64_C(1)
#define IDLE UINT64_C(2)
#define COUNT_SHIFT 2

#define BIT(slot) (UINT64_C(1) << ((slot) & 63))
#define WORD(slot) ((slot) >> 6)

/* The step of an operation from a state; 0, or -1 with an exception set. */
static inline int
step_to(Search *self, const State *marks, int32_t state, int32_t type, int32_t *after)
{
    Operations *operations = self->operations;
    int32_t known = operations->known[type];
    *after = map_get(&operations->transitions->known, (uint64_t)state, (uint64_t)known,
                     NOT_ASKED);
    if (*after != NOT_ASKED) {
        return 0;
    }
    return ask(operations->transitions, marks, operations->step, state, known, after);
}

static void
open_call(Search *self, int64_t position)
{
    const Operations *operations = self->operations;
    size_t slot = (size_t)self->slot[position];
    int observes = operations->flags[operations->types[position]] & OBSERVES;
    (observes ? self->observers : self->mutators)[WORD(slot)] |= BIT(slot);
    self->occupant[slot] = position;
}

static void
close_call(Search *self, int64_t position)
{
    size_t slot = (size_t)self->slot[position];
    self->observers[WORD(slot)] &= ~BIT(slot);
    self->mutators[WORD(slot)] &= ~BIT(slot);
}

/* Go to the next return: what it belongs to is closed, and what was called since is open. */
static void
advance(Search *self)
{
    close_call(self, self->order[self->index]);
    size_t from = self->called[self->index++];
    if (self->index < self->returns) {
        for (size_t i = from; i < self->called[self->index]; i++) {
            open_call(self, self->calls[i]);
        }
    }
}

/* Undo `advance`. */
static void
retract(Search *self)
{
    size_t index = self->index--;
    if (index < self->returns) {
        for (size_t i = self->called[index]; i-- > self->called[index - 1];) {
            close_call(self, self->calls[i]);
        }
    }
    open_call(self, self->order[self->index]);
}

static inline void
emit(Search *self, int64_t position)
{
    if (self->emitted != NULL) {
        self->emitted[self->emitted_count++] = position;
    }
}

/* Whether somebody may see a state from the present return on; -1 on errors. */
static int
may_be_seen(Search *self, const State *marks, int32_t state)
{
    int32_t until = map_get(&self->seen, 0, (uint64_t)state, -1);
    if (until < 0) {
        until = 0;
        for (size_t i = 0; i < self->seer_count; i++) {
            int32_t after = state;
            if (i < SEERS_ASKED && step_to(self, marks, state, self->seers[i].type, &after)) {
                return -1;
            }
            if (after != NOT_LEGAL) {
                until = self->seers[i].until;
                break;
            }
        }
        if (map_put(&self->seen, 0, (uint64_t)state, until)) {
            return -1;
        }
    }
    return (size_t)until > self->index;
}

/* Linearize open blind writes that nobody can see, right before another blind write, which is in
 * the mask already if it has a slot. 0, or -1 on errors. */
static int
absorb(Search *self, const State *marks)
{
    const Operations *operations = self->operations;
    for (size_t word = 0; word < self->mask_words; word++) {
        uint64_t left = self->mutators[word] & ~self->mask[word];
        for (; left; left &= left - 1) {
            size_t slot = word * 64 + (size_t)__builtin_ctzll(left);
            int64_t position = self->occupant[slot];
            int32_t type = operations->types[position], after;
            if (!(operations->flags[type] & OVERWRITES)) {
                continue;
            }
            if (step_to(self, marks, self->state, type, &after)) {
                return -1;
            }
            int seen = may_be_seen(self, marks, after);
            if (seen < 0) {
                return -1;
            }
            if (!seen) {
                self->mask[word] |= BIT(slot);
                emit(self, position);
            }
        }
    }
    return 0;
}

/* Linearize what follows at once: observers that are legal, and the returns of what is done.
 * `moved` says that the state is new to the open observers. 0, or -1 with an exception set. */
static int
settle(Search *self, const State *marks, int moved)
{
    const Operations *operations = self->operations;
    int32_t after;
    if (moved && self->index < self->returns) {
        for (size_t word = 0; word < self->mask_words; word++) {
            uint64_t left = self->observers[word] & ~self->mask[word];
            for (; left; left &= left - 1) {
                size_t slot = word * 64 + (size_t)__builtin_ctzll(left);
                int64_t position = self->occupant[slot];
                if (step_to(self, marks, self->state, operations->types[position], &after)) {
                    return -1;
                }
                if (after == self->state) {
                    self->mask[word] |= BIT(slot);
                    self->idle = 0;
                    emit(self, position);
                }
            }
        }
    }
    while (self->index < self->returns) {
        size_t slot = (size_t)self->slot[self->order[self->index]];
        if (!(self->mask[WORD(slot)] & BIT(slot))) {
            break;
        }
        self->mask[WORD(slot)] &= ~BIT(slot);
        self->idle = 0;
        size_t from = self->called[self->index];
        advance(self);
        if (self->index == self->returns) {
            break;
        }
        for (size_t i = from; i < self->called[self->index]; i++) {
            int64_t position = self->calls[i];
            int32_t type = operations->types[position];
            if (!(operations->flags[type] & OBSERVES)) {
                continue;
            }
            if (step_to(self, marks, self->state, type, &after)) {
                return -1;
            }
            if (after == self->state) {
                size_t own = (size_t)self->slot[position];
                self->mask[WORD(own)] |= BIT(own);
                emit(self, position);
            }
        }
    }
    return 0;
}

/* Whether no count of one is more than that of the other. */
static inline int
no_more(const Search *self, const uint64_t *one, const uint64_t *other)
{
    for (size_t word = 0; word < self->used_words; word++) {
        uint64_t guards = self->guards[word];
        if ((((other[word] | guards) - one[word]) & guards) != guards) {
            return 0;
        }
    }
    return 1;
}

static inline uint64_t *
record(const Search *self, size_t number)
{
    return self->records + number * self->record_words;
}

static inline uint64_t
place_of(const Search *self)
{
    return (uint64_t)(uint32_t)self->state << 32 | (uint32_t)self->index;
}

static uint64_t
hash_of(const uint64_t *words, size_t count)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < count; i++) {
        hash = mix((hash + words[i]) * UINT64_C(0x9e3779b97f4a7c15) + i);
    }
    return hash;
}

static int
grow_table(Search *self)
{
    size_t size = self->table_size ? self->table_size * 2 : 256;
    uint64_t *table = zeroed(size, sizeof *table);
    if (table == NULL) {
        return -1;
    }
    for (size_t i = 0; i < self->table_size; i++) {
        uint64_t entry = self->table[i];
        if (entry) {
            uint64_t hash =
                hash_of(record(self, (uint32_t)entry - 1), 1 + self->mask_words);
            size_t at = hash & (size - 1);
            while (table[at]) {
                at = (at + 1) & (size - 1);
            }
            table[at] = entry;
        }
    }
    PyMem_Free(self->table);
    self->table = table;
    self->table_size = size;
    return 0;
}

/* Remember the configuration: 1 if it is new, 0 if it was visited or is dominated, -1 on errors. */
static int
remember(Search *self)
{
    size_t key_words = 1 + self->mask_words;
    if (self->heads * 2 >= self->table_size && grow_table(self)) {
        return -1;
    }
    if (self->record_count >= UINT32_MAX - 1) {
        PyErr_SetString(PyExc_MemoryError, "too many configurations");
        return -1;
    }
    if (reserve((void **)&self->records, &self->records_room,
                (self->record_count + 1) * self->record_words, 8) ||
        (self->used_words &&
         reserve((void **)&self->next, &self->next_room, self->record_count + 1, 4))) {
        return -1;
    }
    uint64_t *fresh = record(self, self->record_count);
    fresh[0] = place_of(self);
    memcpy(fresh + 1, self->mask, self->mask_words * 8);
    uint64_t hash = hash_of(fresh, key_words);
    uint64_t tag = hash & ~(uint64_t)UINT32_MAX;
    size_t at = hash & (self->table_size - 1);
    for (; self->table[at]; at = (at + 1) & (self->table_size - 1)) {
        uint64_t entry = self->table[at];
        if ((entry & ~(uint64_t)UINT32_MAX) == tag &&
            memcmp(record(self, (uint32_t)entry - 1), fresh, key_words * 8) == 0) {
            break;
        }
    }
    uint32_t head = (uint32_t)self->table[at];
    if (head && !self->used_words) {
        return 0;
    }
    /* Those that it dominates leave the chain. None can dominate it then, for of those in the
     * chain none dominates another. */
    uint32_t survivors = head, *link = &survivors;
    for (uint32_t number = head; number; number = self->next[number - 1]) {
        uint64_t *used = record(self, number - 1) + key_words;
        if (no_more(self, used, self->used)) {
            return 0;
        }
        if (no_more(self, self->used, used)) {
            *link = self->next[number - 1];
            if (self->by_levels) {
                used[self->used_words] |= DOMINATED;
            }
        } else {
            link = &self->next[number - 1];
        }
    }
    self->configurations++;
    memcpy(fresh + key_words, self->used, self->used_words * 8);
    uint32_t number = (uint32_t)++self->record_count;
    if (self->used_words) {
        self->next[number - 1] = survivors;
    }
    self->heads += !head;
    self->table[at] = tag | number;
    return 1;
}

/* Save the configuration before a choice. */
static int
push(Search *self, int64_t position)
{
    if (reserve((void **)&self->stack, &self->stack_room, (self->depth + 1) * self->stride, 8) ||
        reserve((void **)&self->path, &self->path_room, self->depth + 1, 8)) {
        return -1;
    }
    uint64_t *frame = self->stack + self->depth * self->stride;
    frame[0] = place_of(self);
    frame[1] = (uint64_t)self->cursor << 1 | (uint64_t)self->idle;
    memcpy(frame + 2, self->mask, self->mask_words * 8);
    memcpy(frame + 2 + self->mask_words, self->used, self->used_words * 8);
    self->path[self->depth++] = position;
    return 0;
}

/* Go back to where the last choice was made. */
static void
pop(Search *self)
{
    const uint64_t *frame = self->stack + --self->depth * self->stride;
    size_t index = (uint32_t)frame[0];
    while (self->index > index) {
        retract(self);
    }
    self->state = (int32_t)(frame[0] >> 32);
    self->cursor = (size_t)(frame[1] >> 1);
    self->idle = (int)(frame[1] & 1);
    memcpy(self->mask, frame + 2, self->mask_words * 8);
    memcpy(self->used, frame + 2 + self->mask_words, self->used_words * 8);
}

/* Remember the way to the longest prefix, of which the first part is remembered already. */
static int
keep_path(Search *self)
{
    if (reserve((void **)&self->longest, &self->longest_room, self->longest_depth, 8)) {
        return -1;
    }
    if (self->longest_depth > self->shared) {
        memcpy(self->longest + self->shared, self->path + self->shared,
               (self->longest_depth - self->shared) * 8);
    }
    self->shared = self->longest_depth;
    self->stale = 0;
    return 0;
}

/* Which of the unlimited groups lead to another state, one for each. 0, or -1 on errors. */
static int
moves_without_limit(Search *self, const State *marks, int32_t *place)
{
    *place = map_get(&self->unlimited_from, 0, (uint64_t)self->state, -1);
    if (*place >= 0) {
        return 0;
    }
    Map met = {NULL, 0, 0};
    size_t start = self->unlimited_used++, count = 0;
    int failed = -1;
    for (size_t i = 0; i < self->unlimited_count; i++) {
        int32_t after;
        if (step_to(self, marks, self->state, self->groups[i].type, &after)) {
            goto done;
        }
        if (after == NOT_LEGAL || after == self->state ||
            map_get(&met, 0, (uint64_t)after, 0)) {
            continue;
        }
        if (map_put(&met, 0, (uint64_t)after, 1) ||
            reserve((void **)&self->unlimited, &self->unlimited_room, start + count + 2, 4)) {
            goto done;
        }
        self->unlimited[start + ++count] = (int32_t)i;
    }
    if (start + count >= INT32_MAX) {
        PyErr_NoMemory();
        goto done;
    }
    if (reserve((void **)&self->unlimited, &self->unlimited_room, start + 1, 4)) {
        goto done;
    }
    self->unlimited[start] = (int32_t)count;
    self->unlimited_used += count;
    *place = (int32_t)start;
    failed = map_put(&self->unlimited_from, 0, (uint64_t)self->state, *place);
done:
    PyMem_Free(met.cells);
    return failed;
}

/* Whether an open operation of the same type, not linearized yet, returns before this one. */
static int
has_earlier_twin(const Search *self, int64_t position)
{
    const Operations *operations = self->operations;
    int32_t type = operations->types[position];
    int64_t returned = operations->returned[position];
    for (size_t word = 0; word < self->mask_words; word++) {
        uint64_t left = self->mutators[word] & ~self->mask[word];
        for (; left; left &= left - 1) {
            int64_t other = self->occupant[word * 64 + (size_t)__builtin_ctzll(left)];
            if (operations->types[other] == type &&
                (operations->returned[other] < returned ||
                 (operations->returned[other] == returned && other < position))) {
                return 1;
            }
        }
    }
    return 0;
}

/* Make the next choice that leads on: 1, or 0 if there is none, or -1 on errors. It is pushed. */
static int
choose(Search *self, const State *marks)
{
    const Operations *operations = self->operations;
    int64_t returning = self->order[self->index];
    int32_t after;
    while (self->cursor <= self->slots) {
        /* First the operation that has to return next, then the others that are open. */
        int64_t position = returning;
        if (self->cursor++ == 0) {
            if (operations->flags[operations->types[position]] & OBSERVES) {
                continue;
            }
        } else {
            size_t slot = self->cursor - 2, word = WORD(slot);
            uint64_t left = (self->mutators[word] & ~self->mask[word]) & ~(BIT(slot) - 1);
            while (!left && ++word < self->mask_words) {
                left = self->mutators[word] & ~self->mask[word];
            }
            if (!left) {
                self->cursor = self->slots + 1;
                break;
            }
            slot = word * 64 + (size_t)__builtin_ctzll(left);
            self->cursor = slot + 2;
            position = self->occupant[slot];
            if (position == returning) {
                continue;
            }
        }
        int32_t type = operations->types[position];
        if (self->idle && (operations->flags[type] & OVERWRITES)) {
            continue;
        }
        if (step_to(self, marks, self->state, type, &after)) {
            return -1;
        }
        if (after == NOT_LEGAL || (position != returning && has_earlier_twin(self, position))) {
            continue;
        }
        if (push(self, position)) {
            return -1;
        }
        size_t slot = (size_t)self->slot[position];
        self->mask[WORD(slot)] |= BIT(slot);
        self->idle = 0;
        if ((operations->flags[type] & OVERWRITES) && absorb(self, marks)) {
            return -1;
        }
        int moved = after != self->state;
        self->state = after;
        return settle(self, marks, moved) ? -1 : 1;
    }
    int32_t place = 0;
    size_t free_moves = 0;
    if (self->unlimited_count) {
        if (moves_without_limit(self, marks, &place)) {
            return -1;
        }
        free_moves = (size_t)self->unlimited[place];
    }
    for (;;) {
        size_t number = self->cursor - self->slots - 1;
        if (number < free_moves) {
            number = (size_t)self->unlimited[place + 1 + (int32_t)number];
        } else {
            number += self->unlimited_count - free_moves;
        }
        if (number >= self->group_count) {
            return 0;
        }
        const Group *group = &self->groups[number];
        if (self->since[group->first] > self->index) {
            return 0; /* groups are in order of first call */
        }
        self->cursor++;
        uint64_t times =
            group->one ? self->used[group->word] >> group->shift & group->field : 0;
        if ((self->idle && group->blind) || times == group->count ||
            self->since[group->first + times] > self->index) {
            continue;
        }
        if (step_to(self, marks, self->state, group->type, &after)) {
            return -1;
        }
        if (after == NOT_LEGAL || after == self->state) {
            continue;
        }
        if (push(self, self->members[group->first + times])) {
            return -1;
        }
        if (group->one) {
            self->used[group->word] += group->one;
        }
        self->idle = group->blind;
        if (group->blind && absorb(self, marks)) {
            return -1;
        }
        self->state = after;
        return settle(self, marks, 1) ? -1 : 1;
    }
}

/* A new record waits to be followed up: in this level, or in a later one. */
static int
enqueue(Search *self, uint64_t count, size_t from, int64_t position, size_t level)
{
    size_t number = self->record_count;
    if (reserve((void **)&self->queue, &self->queue_room, number, 4)) {
        return -1;
    }
    if (count > self->unknown_count) {
        count = self->unknown_count; /* what is unlimited may be used more often than it is there */
    }
    uint64_t *more = record(self, number - 1) + 1 + self->mask_words + self->used_words;
    more[0] = count << COUNT_SHIFT | (self->idle ? IDLE : 0);
    more[1] = (uint64_t)from << 32 | (uint32_t)position;
    uint32_t *first = self->index == level ? &self->at_count[count] : &self->waiting[self->index];
    self->queue[number - 1] = *first;
    *first = (uint32_t)number;
    if (self->index > self->reached) {
        self->reached = self->index;
        self->farthest = number;
    }
    return 0;
}

/* The choices that led to a record, and perhaps one more. */
static int
keep_way(Search *self, size_t to, int64_t last)
{
    size_t more = 1 + self->mask_words + self->used_words, depth = last >= 0;
    for (size_t number = to; number > 1; number = record(self, number - 1)[more + 1] >> 32) {
        depth++;
    }
    if (reserve((void **)&self->longest, &self->longest_room, depth, 8)) {
        return -1;
    }
    self->longest_depth = depth;
    if (last >= 0) {
        self->longest[--depth] = last;
    }
    for (size_t number = to; number > 1; number = record(self, number - 1)[more + 1] >> 32) {
        self->longest[--depth] = (int64_t)(uint32_t)record(self, number - 1)[more + 1];
    }
    return 0;
}

/* Follow up a record; as `search_by_levels`, and 2 when that is done. */
static int
follow(Search *self, const State *marks, size_t number)
{
    const uint64_t *from = record(self, number - 1);
    const uint64_t *more = from + 1 + self->mask_words + self->used_words;
    if (more[0] & DOMINATED) {
        return 2;
    }
    uint64_t count = more[0] >> COUNT_SHIFT;
    size_t level = self->index;
    self->state = (int32_t)(from[0] >> 32);
    self->idle = !!(more[0] & IDLE);
    self->cursor = 0;
    memcpy(self->mask, from + 1, self->mask_words * 8);
    memcpy(self->used, from + 1 + self->mask_words, self->used_words * 8);
    int found;
    while ((found = choose(self, marks)) > 0) {
        if (self->index == self->returns) {
            self->reached = self->returns;
            return keep_way(self, number, self->path[0]) ? -1 : 1;
        }
        int fresh = remember(self);
        /* Behind the slots come the unknown outcomes. */
        int unknown = (self->stack[1] >> 1) > self->slots + 1;
        if (fresh < 0 ||
            (fresh && enqueue(self, count + (uint64_t)unknown, number, self->path[0], level))) {
            return -1;
        }
        pop(self);
    }
    return found < 0 ? -1 : 2;
}

/* So many bytes of new states pause a search, for its caller to look at the budget: a state of a
 * queue or a set is as large as what is in it. */
enum { PAUSE_BYTES = 16 << 20 };

static int
has_grown(const Search *self, size_t most_bytes)
{
    return self->operations->transitions->state_bytes > most_bytes;
}

/* Search on, by index, and within one by how many unknown outcomes were used: as `search_on`. */
static int
search_by_levels(Search *self, const State *marks, size_t limit)
{
    size_t signals = 0;
    limit = limit > SIZE_MAX - self->configurations ? SIZE_MAX : self->configurations + limit;
    size_t most_bytes = self->operations->transitions->state_bytes + PAUSE_BYTES;
    while (self->index < self->returns) {
        for (; self->count <= self->unknown_count; self->count++) {
            uint32_t number;
            while ((number = self->at_count[self->count]) != 0) {
                self->at_count[self->count] = self->queue[number - 1];
                if (++signals % SIGNALS_EVERY == 0 && PyErr_CheckSignals()) {
                    return -1;
                }
                int answer = follow(self, marks, number);
                if (answer != 2) {
                    return answer;
                }
                if (self->configurations >= limit || has_grown(self, most_bytes)) {
                    return 2;
                }
            }
        }
        do {
            advance(self);
        } while (self->index < self->returns && !self->waiting[self->index]);
        if (self->index == self->returns) {
            break;
        }
        for (uint32_t number = self->waiting[self->index]; number;) {
            uint32_t next = self->queue[number - 1];
            const uint64_t *more =
                record(self, number - 1) + 1 + self->mask_words + self->used_words;
            uint32_t *first = &self->at_count[more[0] >> COUNT_SHIFT];
            self->queue[number - 1] = *first;
            *first = number;
            number = next;
        }
        self->count = 0;
    }
    if (self->reached == self->returns) {
        return 1;
    }
    return keep_way(self, self->farthest, -1);
}

/* Search on: 1 linearizable, 0 not, 2 the limit was reached, -1 on errors. */
static int
search_on(Search *self, const State *marks, size_t limit)
{
    size_t signals = 0;
    limit = limit > SIZE_MAX - self->configurations ? SIZE_MAX : self->configurations + limit;
    size_t most_bytes = self->operations->transitions->state_bytes + PAUSE_BYTES;
    while (self->index < self->returns) {
        if (++signals % SIGNALS_EVERY == 0 && PyErr_CheckSignals()) {
            return -1;
        }
        int found = choose(self, marks);
        if (found < 0) {
            return -1;
        }
        if (!found) {
            if (self->depth == 0) {
                return 0;
            }
            if (self->stale && keep_path(self)) {
                return -1;
            }
            pop(self);
            if (self->depth < self->shared) {
                self->shared = self->depth;
            }
            continue;
        }
        int fresh = remember(self);
        if (fresh < 0) {
            return -1;
        }
        if (!fresh) {
            pop(self);
            continue;
        }
        self->cursor = 0;
        if (self->index > self->reached) {
            self->reached = self->index;
            self->longest_depth = self->depth;
            self->stale = 1;
        }
        if ((self->configurations >= limit || has_grown(self, most_bytes)) &&
            self->index < self->returns) {
            return 2;
        }
    }
    self->reached = self->returns;
    return 1;
}

/* For each return in order, how many were called by then; and a slot for each operation. */
static int
open_windows(Search *self, const uint8_t *forgotten)
{
    const Operations *operations = self->operations;
    size_t size = operations->size, count = operations->acknowledged;
    self->order = zeroed(count, 8);
    self->calls = zeroed(count, 8);
    self->called = zeroed(count, sizeof(size_t));
    self->slot = zeroed(size, 4);
    int32_t *free_slots = zeroed(count, 4);
    if (!self->order || !self->calls || !self->called || !self->slot || !free_slots) {
        PyMem_Free(free_slots);
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        int64_t position = operations->returns[i].position;
        if (!forgotten || !forgotten[position]) {
            self->order[self->returns++] = position;
        }
    }
    size_t calls = 0;
    for (size_t i = 0; i < size; i++) {
        if (!operations->optional[i] && (!forgotten || !forgotten[i])) {
            self->calls[calls++] = (int64_t)i;
        }
    }
    size_t at = 0, free_count = 0;
    for (size_t i = 0; i < self->returns; i++) {
        int64_t returning = self->order[i];
        int64_t time = operations->returned[returning];
        for (; at < calls && operations->call[self->calls[at]] <= time; at++) {
            self->slot[self->calls[at]] =
                free_count ? free_slots[--free_count] : (int32_t)self->slots++;
        }
        self->called[i] = at;
        free_slots[free_count++] = self->slot[returning];
    }
    PyMem_Free(free_slots);
    self->mask_words = (self->slots + 63) / 64;
    if (self->mask_words == 0) {
        self->mask_words = 1;
    }
    self->occupant = zeroed(self->slots, 8);
    self->mask = zeroed(self->mask_words, 8);
    self->mutators = zeroed(self->mask_words, 8);
    self->observers = zeroed(self->mask_words, 8);
    return self->occupant && self->mask && self->mutators && self->observers ? 0 : -1;
}

/* Whether pass 0 or 1 over the operations of unknown outcome is to take this one: the forgotten
 * ones come first, so that groups are in the order of their first call. */
static int
taken_in_pass(const Operations *operations, const uint8_t *forgotten, size_t i, int pass)
{
    if (forgotten && forgotten[i]) {
        return pass == 0 && !(operations->flags[operations->types[i]] & OBSERVES);
    }
    return pass == 1 && operations->optional[i];
}

/* Group what may have happened: forgotten operations at any time, others from their call on. */
static int
group_unknowns(Search *self, const uint8_t *forgotten, int unlimited)
{
    const Operations *operations = self->operations;
    size_t size = operations->size, types = operations->known_count, total = 0;
    int32_t *group_of = zeroed(types, 4); /* + 1 */
    self->groups = zeroed(types, sizeof(Group));
    if (group_of == NULL || self->groups == NULL) {
        PyMem_Free(group_of);
        return -1;
    }
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < size; i++) {
            int32_t type = operations->types[i];
            if (!taken_in_pass(operations, forgotten, i, pass)) {
                continue;
            }
            if (!group_of[type]) {
                self->groups[self->group_count] =
                    (Group){.type = type, .blind = !!(operations->flags[type] & OVERWRITES)};
                group_of[type] = (int32_t)++self->group_count;
            }
            self->groups[group_of[type] - 1].count++;
            self->groups[group_of[type] - 1].forgotten += unlimited && pass == 0;
            total++;
        }
    }
    self->members = zeroed(total, 8);
    self->since = zeroed(total, sizeof(size_t));
    if (!self->members || !self->since) {
        PyMem_Free(group_of);
        return -1;
    }
    self->unknown_count = total;
    while (self->unlimited_count < self->group_count &&
           self->groups[self->unlimited_count].forgotten) {
        self->unlimited_count++;
    }
    size_t first = 0;
    unsigned bits = 0;
    for (size_t i = 0; i < self->group_count; i++) {
        Group *group = &self->groups[i];
        group->first = first;
        first += group->count;
        if (group->forgotten) {
            group->count = 0;
            continue;
        }
        unsigned width = 64 - (unsigned)__builtin_clzll(group->count);
        if (bits + width + 1 > 64) {
            bits = 0;
        }
        self->used_words += bits == 0;
        group->word = self->used_words - 1;
        group->shift = bits;
        group->one = UINT64_C(1) << bits;
        group->field = (UINT64_C(1) << width) - 1;
        bits += width + 1;
        if (bits == 64) {
            bits = 0;
        }
        group->count = 0;
    }
    for (int pass = 0; pass < 2; pass++) {
        size_t index = 0;
        for (size_t i = 0; i < size; i++) {
            if (!taken_in_pass(operations, forgotten, i, pass)) {
                continue;
            }
            while (pass == 1 && index < self->returns &&
                   operations->returned[self->order[index]] < operations->call[i]) {
                index++;
            }
            Group *group = &self->groups[group_of[operations->types[i]] - 1];
            self->members[group->first + group->count] = (int64_t)i;
            self->since[group->first + group->count++] = index;
        }
    }
    PyMem_Free(group_of);
    self->guards = zeroed(self->used_words, 8);
    self->used = zeroed(self->used_words, 8);
    if (!self->guards || !self->used) {
        return -1;
    }
    for (size_t i = 0; i < self->group_count; i++) {
        const Group *group = &self->groups[i];
        if (group->one) {
            self->guards[group->word] |= (group->field + 1) << group->shift;
        }
    }
    return 0;
}

static int
longest_first(const void *a, const void *b)
{
    const Seer *one = a, *other = b;
    return one->until != other->until ? (one->until < other->until ? 1 : -1)
                                      : (one->type > other->type) - (one->type < other->type);
}

/* Until when which types are there that can see a state. */
static int
list_seers(Search *self)
{
    const Operations *operations = self->operations;
    int32_t *until = zeroed(operations->known_count, 4);
    self->seers = zeroed(operations->known_count, sizeof(Seer));
    if (until == NULL || self->seers == NULL) {
        PyMem_Free(until);
        return -1;
    }
    for (size_t i = 0; i < self->returns; i++) {
        until[operations->types[self->order[i]]] = (int32_t)i + 1;
    }
    for (size_t i = 0; i < self->group_count; i++) {
        until[self->groups[i].type] = (int32_t)self->returns + 1;
    }
    for (size_t type = 0; type < operations->known_count; type++) {
        if (until[type] && !(operations->flags[type] & OVERWRITES)) {
            self->seers[self->seer_count++] = (Seer){(int32_t)type, until[type]};
        }
    }
    qsort(self->seers, self->seer_count, sizeof(Seer), longest_first);
    PyMem_Free(until);
    return 0;
}

/* Go to the first configuration. */
static int
begin(Search *self, const State *marks)
{
    while (self->index > 0) {
        retract(self);
    }
    memset(self->mask, 0, self->mask_words * 8);
    memset(self->used, 0, self->used_words * 8);
    self->state = self->operations->transitions->initial;
    return settle(self, marks, 1);
}

static PyObject *
search_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"operations", "forgotten", "by_levels", "unlimited", NULL};
    State *marks = PyType_GetModuleState(type);
    PyObject *operations;
    Py_buffer forgotten = {0};
    int by_levels = 0, unlimited = 0;
    if (marks == NULL ||
        !PyArg_ParseTupleAndKeywords(args, keywords, "O!|y*$pp:Search", names,
                                     marks->operations_type, &operations, &forgotten,
                                     &by_levels, &unlimited)) {
        return NULL;
    }
    Search *self = NULL;
    size_t size = ((Operations *)operations)->size;
    if (forgotten.len && (size_t)forgotten.len != size) {
        PyErr_SetString(PyExc_ValueError, "a byte for each operation, or none at all");
        goto failed;
    }
    allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    self = (Search *)make(type, 0);
    if (self == NULL) {
        goto failed;
    }
    Py_INCREF(operations);
    self->operations = (Operations *)operations;
    const uint8_t *outside = forgotten.len ? forgotten.buf : NULL;
    if (open_windows(self, outside) || group_unknowns(self, outside, unlimited) ||
        list_seers(self)) {
        goto failed;
    }
    self->by_levels = by_levels;
    self->record_words = 1 + self->mask_words + self->used_words + (by_levels ? 2 : 0);
    self->stride = 2 + self->mask_words + self->used_words;
    for (size_t i = 0; self->returns && i < self->called[0]; i++) {
        open_call(self, self->calls[i]);
    }
    if (begin(self, marks) || remember(self) < 0) {
        goto failed;
    }
    self->reached = self->index;
    if (by_levels) {
        self->waiting = zeroed(self->returns + 1, 4);
        self->at_count = zeroed(self->unknown_count + 1, 4);
        if (!self->waiting || !self->at_count || enqueue(self, 0, 0, 0, self->index)) {
            goto failed;
        }
    }
    if (forgotten.obj) {
        PyBuffer_Release(&forgotten);
    }
    return (PyObject *)self;
failed:
    if (forgotten.obj) {
        PyBuffer_Release(&forgotten);
    }
    Py_XDECREF((PyObject *)self);
    return NULL;
}

static int
search_traverse(PyObject *object, visitproc visit, void *arg)
{
    Search *self = (Search *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->operations);
    return 0;
}

static void
search_dealloc(PyObject *object)
{
    Search *self = (Search *)object;
    PyObject_GC_UnTrack(object);
    Py_CLEAR(self->operations);
    void *memory[] = {self->order, self->calls,    self->called,    self->slot,     self->groups,
                      self->members, self->since,  self->guards,    self->mask,     self->used,
                      self->mutators, self->observers, self->occupant, self->stack, self->path,
                      self->longest, self->records, self->next,     self->table, self->queue,
                      self->waiting, self->at_count, self->unlimited,
                      self->unlimited_from.cells, self->seers, self->seen.cells};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
        PyMem_Free(memory[i]);
    }
    release(object);
}

/* Take hold of a search for one of its methods; -1 if it cannot be used. */
static int
enter(Search *self)
{
    if (self->busy || self->broken) {
        PyErr_SetString(PyExc_RuntimeError,
                        self->busy ? "the search is running" : "the search has failed before");
        return -1;
    }
    self->busy = 1;
    return 0;
}

static PyObject *
search_run(PyObject *object, PyObject *argument)
{
    Search *self = (Search *)object;
    State *marks = PyType_GetModuleState(Py_TYPE(object));
    Py_ssize_t limit = PyLong_AsSsize_t(argument);
    if (marks == NULL || (limit == -1 && PyErr_Occurred()) || enter(self)) {
        return NULL;
    }
    size_t most = limit > 0 ? (size_t)limit : 1;
    int answer = self->by_levels ? search_by_levels(self, marks, most)
                                 : search_on(self, marks, most);
    self->busy = 0;
    if (answer < 0) {
        self->broken = 1;
        return NULL;
    }
    if (answer == 2) {
        Py_RETURN_NONE;
    }
    return PyBool_FromLong(answer);
}

static PyObject *
search_prefix(PyObject *object, PyObject *Py_UNUSED(none))
{
    Search *self = (Search *)object;
    State *marks = PyType_GetModuleState(Py_TYPE(object));
    if (marks == NULL || enter(self)) {
        return NULL;
    }
    const Operations *operations = self->operations;
    PyObject *answer = NULL, *order = NULL;
    int64_t changed = -1;
    /* The search is put aside, the order is made by going its way again, and then taken up. */
    if ((self->stale && keep_path(self)) || push(self, -1)) {
        goto done;
    }
    size_t resume = self->index;
    self->emitted_count = 0;
    self->emitted = zeroed(operations->size, 8);
    if (self->emitted == NULL || begin(self, marks)) {
        goto done;
    }
    for (size_t i = 0; i < self->longest_depth; i++) {
        int64_t position = self->longest[i];
        int32_t after;
        size_t slot = (size_t)self->slot[position];
        if (slot < self->slots && self->occupant[slot] == position &&
            ((self->mutators[WORD(slot)] | self->observers[WORD(slot)]) & BIT(slot))) {
            self->mask[WORD(slot)] |= BIT(slot);
        }
        int32_t type = operations->types[position];
        if ((operations->flags[type] & OVERWRITES) && absorb(self, marks)) {
            goto done;
        }
        emit(self, position);
        if (step_to(self, marks, self->state, type, &after)) {
            goto done;
        }
        int moved = after != self->state;
        if (moved) {
            changed = position;
        }
        self->state = after;
        if (settle(self, marks, moved)) {
            goto done;
        }
    }
    while (self->index < resume) {
        advance(self);
    }
    pop(self);
    order = PyList_New((Py_ssize_t)self->emitted_count);
    for (size_t i = 0; order != NULL && i < self->emitted_count; i++) {
        PyObject *position = PyLong_FromLongLong(self->emitted[i]);
        if (position == NULL || PyList_SetItem(order, (Py_ssize_t)i, position)) {
            Py_CLEAR(order);
        }
    }
    if (order != NULL) {
        answer = changed < 0 ? Py_BuildValue("(NO)", order, Py_None)
                             : Py_BuildValue("(NL)", order, (long long)changed);
    }
done:
    PyMem_Free(self->emitted);
    self->emitted = NULL;
    self->busy = 0;
    self->broken |= answer == NULL;
    return answer;
}

static PyObject *
search_repeats(PyObject *object, PyObject *Py_UNUSED(none))
{
    const Search *self = (const Search *)object;
    for (size_t i = 0; i < self->group_count; i++) {
        const Group *group = &self->groups[i];
        size_t times = 0;
        for (size_t at = 0; group->forgotten && at < self->longest_depth; at++) {
            times += self->longest[at] == self->members[group->first];
        }
        if (times > group->forgotten) {
            Py_RETURN_TRUE;
        }
    }
    Py_RETURN_FALSE;
}

static PyObject *
search_stuck(PyObject *object, PyObject *Py_UNUSED(none))
{
    Search *self = (Search *)object;
    if (self->reached >= self->returns) {
        PyErr_SetString(PyExc_IndexError, "nothing is stuck");
        return NULL;
    }
    return PyLong_FromLongLong(self->order[self->reached]);
}

static PyObject *
search_states(PyObject *object, PyObject *Py_UNUSED(none))
{
    Search *self = (Search *)object;
    PyObject *known = self->operations->transitions->states;
    size_t count = (size_t)PyList_Size(known);
    uint8_t *seen = zeroed(count, 1);
    PyObject *states = PyList_New(0);
    if (seen == NULL || states == NULL) {
        goto failed;
    }
    for (size_t i = 0; i < self->record_count; i++) {
        uint64_t place = record(self, i)[0];
        size_t state = (size_t)(place >> 32);
        if ((uint32_t)place == self->reached && !seen[state]) {
            seen[state] = 1;
            PyObject *object_ = PyList_GetItem(known, (Py_ssize_t)state);
            if (object_ == NULL || PyList_Append(states, object_)) {
                goto failed;
            }
        }
    }
    PyMem_Free(seen);
    return states;
failed:
    PyMem_Free(seen);
    Py_XDECREF(states);
    return NULL;
}

static PyObject *
search_get_bytes(PyObject *object, void *Py_UNUSED(closure))
{
    const Search *self = (const Search *)object;
    size_t words = self->stack_room + self->path_room + self->longest_room + self->records_room +
                   slots_soon(self->table_size, self->heads) + 3 * self->operations->size;
    size_t halves = self->next_room + self->queue_room + self->returns;
    return PyLong_FromSize_t(words * 8 + halves * 4);
}

static PyObject *
search_get_configurations(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromSize_t(((Search *)object)->configurations);
}

static PyObject *
search_get_unknowns(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(((Search *)object)->unknown_count > 0);
}

static PyObject *
search_get_returns(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromSize_t(((Search *)object)->returns);
}

static PyObject *
search_get_reached(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromSize_t(((Search *)object)->reached);
}

static PyGetSetDef search_properties[] = {
    {"bytes", search_get_bytes, NULL, "About how much memory it takes.", NULL},
    {"configurations", search_get_configurations, NULL, "How many were visited.", NULL},
    {"unknowns", search_get_unknowns, NULL, "Whether something may have happened, or not.", NULL},
    {"returns", search_get_returns, NULL, "How many operations were acknowledged.", NULL},
    {"reached", search_get_reached, NULL, "How many of them some order explains.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef search_methods[] = {
    {"run", search_run, METH_O, "Search on, until so many more configurations were visited."},
    {"prefix", search_prefix, METH_NOARGS, "The longest order, and what changed the state last."},
    {"repeats", search_repeats, METH_NOARGS, "Whether an order uses more than is there."},
    {"stuck", search_stuck, METH_NOARGS, "The operation that cannot follow the prefix."},
    {"states", search_states, METH_NOARGS, "The states that were possible there."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot search_slots[] = {
    {Py_tp_doc, "A search that can be paused."},
    {Py_tp_new, search_new},
    {Py_tp_traverse, search_traverse},
    {Py_tp_dealloc, search_dealloc},
    {Py_tp_getset, search_properties},
    {Py_tp_methods, search_methods},
    {0, NULL},
};

PyType_Spec search_spec = {
    .name = "rumpus.checker.linearizability._windowed_search.Search",
    .basicsize = sizeof(Search),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = search_slots,
};
