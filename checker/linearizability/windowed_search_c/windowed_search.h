/* The windowed search in C: the twin of operation_types.py and windowed_search.py, where the
 * algorithm and the arguments for it are written down. The same three classes:
 *
 *   Transitions(model)                              numbers for states and types, and the steps
 *   Operations(transitions, table, arguments, ...)  the rows of a table as numbers
 *   Search(operations, forgotten)                   the search itself, which can be paused
 *
 * Python is called only for a step that is not known yet, and to compare new states and values.
 * Nothing here recurses. Only the stable interface of Python 3.11 is used (abi3).
 */

#ifndef WINDOWED_SEARCH_H
#define WINDOWED_SEARCH_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, FAIL = 1, INFO = 2 };
#define MISSING INT64_MIN
#define NOT_LEGAL (-1)
#define NOT_ASKED (-2)
#define SIGNALS_EVERY 4096

/* What the module keeps. */
typedef struct {
    PyObject *illegal, *unknown, *refused, *wrong_model;
    PyObject *transitions_type, *operations_type, *search_type;
} State;

/* The memory of transitions, and of types within one table: memory.c */

/* A map from pairs of words to small numbers, without deletion. */
typedef struct {
    uint64_t high, low;
    int32_t value;
    int32_t used;
} Cell;

typedef struct {
    Cell *cells;
    size_t size, count;
} Map;

int reserve(void **items, size_t *room, size_t wanted, size_t item);
void *zeroed(size_t count, size_t item);
int map_put(Map *map, uint64_t high, uint64_t low, int32_t value);
void release(PyObject *object);

static inline uint64_t
mix(uint64_t x)
{
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    x ^= x >> 32;
    x *= UINT64_C(0xd6e8feb86659fd93);
    return x ^ (x >> 32);
}

static inline size_t
map_place(const Map *map, uint64_t high, uint64_t low)
{
    size_t last = map->size - 1;
    size_t at = mix(high * UINT64_C(0x9e3779b97f4a7c15) ^ low) & last;
    while (map->cells[at].used && (map->cells[at].low != low || map->cells[at].high != high)) {
        at = (at + 1) & last;
    }
    return at;
}

static inline int32_t
map_get(const Map *map, uint64_t high, uint64_t low, int32_t otherwise)
{
    if (map->size == 0) {
        return otherwise;
    }
    const Cell *cell = &map->cells[map_place(map, high, low)];
    return cell->used ? cell->value : otherwise;
}

/* The slots of a table that doubles when it is half full: with those of the next one if that is
   near, for then both are there, and a budget is to be spent before. */
static inline size_t
slots_soon(size_t size, size_t used)
{
    return used * 16 >= size * 7 ? 3 * size : size;
}

/* transitions.c */

enum { OBSERVES = 1, OVERWRITES = 2 };

typedef struct {
    PyObject_HEAD
    PyObject *model;         /* a weak reference, for the model's memory must not keep it alive */
    PyObject *name, *observers, *blind;
    PyObject *states;        /* list */
    PyObject *state_numbers; /* dict */
    PyObject *types;         /* list of (f, argument, result) */
    PyObject *type_numbers;  /* dict */
    uint8_t *flags;          /* of types */
    size_t flags_room;
    Map known;
    size_t misses, state_bytes;
    int32_t initial;
} Transitions;

extern PyType_Spec transitions_spec;
int32_t number_type(Transitions *self, const State *marks, PyObject *f, PyObject *argument,
                    PyObject *result);
int ask(Transitions *self, const State *marks, PyObject *step, int32_t state, int32_t type,
        int32_t *after);

/* operations.c */

typedef struct {
    int64_t returned;
    int64_t position;
} Return;

typedef struct {
    PyObject_HEAD
    Transitions *transitions;
    PyObject *step;
    size_t size;
    int64_t *rows, *call, *returned;
    int32_t *types;      /* numbers among the types of these operations, from 0 */
    uint8_t *optional;
    Return *returns;     /* of acknowledged operations, in order */
    size_t acknowledged;
    int32_t *known;      /* type -> number in Transitions */
    size_t known_count, known_room;
    uint8_t *flags;      /* type -> flags */
    size_t flags_room;
} Operations;

extern PyType_Spec operations_spec;

/* search.c */

extern PyType_Spec search_spec;

#endif
