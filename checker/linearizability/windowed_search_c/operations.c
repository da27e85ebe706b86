/* The rows of a table as numbers: types, calls, and the order of returns. */

#include "windowed_search.h"

/* A column of a table: one dimension, items of a size, contiguous. */
static int
column(PyObject *owner, const char *name, size_t item, Py_ssize_t size, Py_buffer *buffer)
{
    PyObject *array = PyObject_GetAttrString(owner, name);
    if (array == NULL) {
        return -1;
    }
    int failed = PyObject_GetBuffer(array, buffer, PyBUF_C_CONTIGUOUS);
    Py_DECREF(array);
    if (failed) {
        return -1;
    }
    if (buffer->itemsize != (Py_ssize_t)item ||
        (size >= 0 && buffer->len != size * (Py_ssize_t)item)) {
        PyErr_Format(PyExc_ValueError, "the column %s has not the expected size", name);
        PyBuffer_Release(buffer);
        return -1;
    }
    return 0;
}

/* A value of a column (`Values`), as a new reference. */
static PyObject *
value_of(PyObject *objects, int64_t number)
{
    if (number == MISSING) {
        Py_RETURN_NONE;
    }
    if (objects == Py_None) {
        return PyLong_FromLongLong(number);
    }
    return PySequence_GetItem(objects, (Py_ssize_t)number);
}

static int
by_return(const void *a, const void *b)
{
    const Return *one = a, *other = b;
    if (one->returned != other->returned) {
        return one->returned < other->returned ? -1 : 1;
    }
    return one->position < other->position ? -1 : one->position > other->position;
}

/* Sort by return. Rows come in order of call, so they are nearly sorted if few overlap. */
static void
sort_returns(Return *returns, size_t size)
{
    size_t moves = 0;
    for (size_t i = 1; i < size; i++) {
        Return moved = returns[i];
        size_t to = i;
        while (to > 0 && returns[to - 1].returned > moved.returned) {
            returns[to] = returns[to - 1];
            to--;
        }
        returns[to] = moved;
        moves += i - to;
        if (moves > 16 * size + 1024) {
            qsort(returns, size, sizeof(Return), by_return);
            return;
        }
    }
}

typedef struct {
    Py_buffer f, outcome, refused, call, returned, argument, result, rows;
    int held; /* how many of them, in this order */
    PyObject *functions, *arguments, *results, *can_refuse;
} Columns;

static int
open_columns(Columns *columns, PyObject *table, PyObject *arguments, PyObject *refusable,
             PyObject *rows)
{
    memset(columns, 0, sizeof *columns);
    PyObject *result = PyObject_GetAttrString(table, "result");
    if (result == NULL) {
        return -1;
    }
    Py_ssize_t size = -1;
    struct {
        PyObject *owner;
        const char *name;
        size_t item;
        Py_buffer *buffer;
    } wanted[] = {
        {table, "f", 2, &columns->f},
        {table, "outcome", 1, &columns->outcome},
        {table, "refused", 1, &columns->refused},
        {table, "call", 8, &columns->call},
        {table, "returned", 8, &columns->returned},
        {arguments, "numbers", 8, &columns->argument},
        {result, "numbers", 8, &columns->result},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        if (column(wanted[i].owner, wanted[i].name, wanted[i].item, size, wanted[i].buffer)) {
            goto failed;
        }
        columns->held++;
        if (i == 0) {
            size = columns->f.len / 2;
        }
    }
    if (rows != Py_None) {
        if (PyObject_GetBuffer(rows, &columns->rows, PyBUF_C_CONTIGUOUS)) {
            goto failed;
        }
        columns->held++;
        if (columns->rows.itemsize != 8) {
            PyErr_SetString(PyExc_ValueError, "rows must be of 64 bits");
            goto failed;
        }
    }
    columns->functions = PyObject_GetAttrString(table, "functions");
    columns->arguments = PyObject_GetAttrString(arguments, "objects");
    columns->results = PyObject_GetAttrString(result, "objects");
    if (!columns->functions || !columns->arguments || !columns->results) {
        goto failed;
    }
    Py_INCREF(refusable);
    columns->can_refuse = refusable;
    Py_DECREF(result);
    return 0;
failed:
    Py_DECREF(result);
    return -1;
}

static void
close_columns(Columns *columns)
{
    Py_buffer *buffers[] = {&columns->f,        &columns->outcome,  &columns->refused,
                            &columns->call,     &columns->returned, &columns->argument,
                            &columns->result,   &columns->rows};
    for (int i = 0; i < columns->held; i++) {
        PyBuffer_Release(buffers[i]);
    }
    Py_CLEAR(columns->functions);
    Py_CLEAR(columns->arguments);
    Py_CLEAR(columns->results);
    Py_CLEAR(columns->can_refuse);
}

/* Number the type of a row that was not met in this table; -1 on errors. */
static int32_t
number_row(Operations *self, const State *marks, const Columns *columns, int64_t row)
{
    int outcome = ((const int8_t *)columns->outcome.buf)[row];
    int32_t number = -1;
    PyObject *f = PySequence_GetItem(columns->functions,
                                     ((const int16_t *)columns->f.buf)[row]);
    PyObject *argument = value_of(columns->arguments,
                                  ((const int64_t *)columns->argument.buf)[row]);
    PyObject *result;
    if (outcome == OK) {
        result = value_of(columns->results, ((const int64_t *)columns->result.buf)[row]);
    } else {
        result = outcome == INFO ? marks->unknown : marks->refused;
        Py_INCREF(result);
    }
    if (f == NULL || argument == NULL || result == NULL) {
        goto done;
    }
    int32_t global = number_type(self->transitions, marks, f, argument, result);
    if (global < 0 ||
        reserve((void **)&self->known, &self->known_room, self->known_count + 1, 4) ||
        reserve((void **)&self->flags, &self->flags_room, self->known_count + 1, 1)) {
        goto done;
    }
    number = (int32_t)self->known_count++;
    self->known[number] = global;
    self->flags[number] = self->transitions->flags[global];
done:
    Py_XDECREF(f);
    Py_XDECREF(argument);
    Py_XDECREF(result);
    return number;
}

enum { REFUSABLE = 1, NOT_REFUSABLE = 2 };

/* Whether a refusal is an answer, for a function by its number; -1 on errors. */
static int
may_refuse(const Columns *columns, int f)
{
    PyObject *name = PySequence_GetItem(columns->functions, f);
    if (name == NULL) {
        return -1;
    }
    int found = PySequence_Contains(columns->can_refuse, name);
    Py_DECREF(name);
    return found;
}

static int
fill_operations(Operations *self, const State *marks, const Columns *columns)
{
    const int64_t *rows = columns->rows.buf;
    const int16_t *f = columns->f.buf;
    const int8_t *outcomes = columns->outcome.buf;
    const uint8_t *refused = columns->refused.buf;
    const int64_t *call = columns->call.buf, *returned = columns->returned.buf;
    const int64_t *arguments = columns->argument.buf, *results = columns->result.buf;
    Py_ssize_t total = columns->f.len / 2;
    Py_ssize_t size = columns->rows.obj ? columns->rows.len / 8 : total;
    /* (function, outcome), argument -> call; call, result -> type. Other outcomes have none. */
    Map calls = {NULL, 0, 0}, answers = {NULL, 0, 0};
    Py_ssize_t functions = PySequence_Size(columns->functions);
    int8_t *refusals = NULL;
    int64_t last = INT64_MIN;
    int failed = -1;
    self->rows = zeroed((size_t)size, 8);
    self->call = zeroed((size_t)size, 8);
    self->returned = zeroed((size_t)size, 8);
    self->types = zeroed((size_t)size, 4);
    self->optional = zeroed((size_t)size, 1);
    self->returns = zeroed((size_t)size, sizeof(Return));
    if (!self->rows || !self->call || !self->returned || !self->types || !self->optional ||
        !self->returns || functions < 0) {
        goto done;
    }
    refusals = zeroed((size_t)functions, 1);
    if (refusals == NULL) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < size; i++) {
        int64_t row = rows ? rows[i] : i;
        if (row < 0 || row >= total) {
            PyErr_SetString(PyExc_IndexError, "no such row");
            goto done;
        }
        int outcome = outcomes[row];
        if (f[row] < 0 || f[row] >= functions) {
            PyErr_SetString(PyExc_IndexError, "no such function");
            goto done;
        }
        if (outcome != OK && outcome != INFO) {
            if (!refused[row]) {
                continue;
            }
            if (!refusals[f[row]]) {
                int answer = may_refuse(columns, f[row]);
                if (answer < 0) {
                    goto done;
                }
                refusals[f[row]] = answer ? REFUSABLE : NOT_REFUSABLE;
            }
            if (refusals[f[row]] == NOT_REFUSABLE) {
                continue;
            }
        }
        uint64_t kind = (uint64_t)f[row] << 8 | (uint8_t)outcome;
        uint64_t argument = (uint64_t)arguments[row], result = (uint64_t)results[row];
        int32_t type = map_get(&calls, kind, argument, -1);
        int32_t asked = type;
        if (asked >= 0 && outcome == OK) {
            type = map_get(&answers, (uint64_t)asked, result, -1);
        }
        if (type < 0) {
            type = number_row(self, marks, columns, row);
            if (type < 0 || (asked < 0 && map_put(&calls, kind, argument, type)) ||
                (outcome == OK &&
                 map_put(&answers, (uint64_t)(asked < 0 ? type : asked), result, type))) {
                goto done;
            }
        }
        if (call[row] < last) {
            PyErr_Format(PyExc_ValueError, "row %lld was called before the row above it",
                         (long long)row);
            goto done;
        }
        last = call[row];
        if (outcome == INFO) {
            if (self->flags[type] & OBSERVES) {
                continue;
            }
        } else if (returned[row] < call[row]) {
            PyErr_Format(PyExc_ValueError, "row %lld returned before it was called",
                         (long long)row);
            goto done;
        }
        size_t at = self->size++;
        self->rows[at] = row;
        self->call[at] = call[row];
        self->returned[at] = returned[row];
        self->types[at] = type;
        self->optional[at] = outcome == INFO;
        if (outcome != INFO) {
            self->returns[self->acknowledged++] = (Return){returned[row], (int64_t)at};
        }
    }
    sort_returns(self->returns, self->acknowledged);
    failed = 0;
done:
    PyMem_Free(calls.cells);
    PyMem_Free(answers.cells);
    PyMem_Free(refusals);
    return failed;
}

static PyObject *
operations_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"transitions", "table", "arguments", "refusable", "rows", NULL};
    State *marks = PyType_GetModuleState(type);
    PyObject *transitions, *table, *arguments, *refusable, *rows = Py_None;
    if (marks == NULL ||
        !PyArg_ParseTupleAndKeywords(args, keywords, "O!OOO|O:Operations", names,
                                     marks->transitions_type, &transitions, &table, &arguments,
                                     &refusable, &rows)) {
        return NULL;
    }
    allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Operations *self = (Operations *)make(type, 0);
    if (self == NULL) {
        return NULL;
    }
    Py_INCREF(transitions);
    self->transitions = (Transitions *)transitions;
    PyObject *model = PyObject_CallNoArgs(self->transitions->model);
    self->step = model == NULL ? NULL : PyObject_GetAttrString(model, "step");
    Py_XDECREF(model);
    Columns columns;
    memset(&columns, 0, sizeof columns);
    int failed = self->step == NULL ||
                 open_columns(&columns, table, arguments, refusable, rows) ||
                 fill_operations(self, marks, &columns);
    close_columns(&columns);
    if (failed) {
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    return (PyObject *)self;
}

static int
operations_traverse(PyObject *object, visitproc visit, void *arg)
{
    Operations *self = (Operations *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->transitions);
    Py_VISIT(self->step);
    return 0;
}

static void
operations_dealloc(PyObject *object)
{
    Operations *self = (Operations *)object;
    PyObject_GC_UnTrack(object);
    Py_CLEAR(self->transitions);
    Py_CLEAR(self->step);
    PyMem_Free(self->rows);
    PyMem_Free(self->call);
    PyMem_Free(self->returned);
    PyMem_Free(self->types);
    PyMem_Free(self->optional);
    PyMem_Free(self->returns);
    PyMem_Free(self->known);
    PyMem_Free(self->flags);
    release(object);
}

static Py_ssize_t
operations_length(PyObject *self)
{
    return (Py_ssize_t)((Operations *)self)->size;
}

/* A list with one of the columns, which the closure names. */
static PyObject *
operations_get_column(PyObject *object, void *closure)
{
    const Operations *self = (const Operations *)object;
    char which = *(const char *)closure;
    PyObject *list = PyList_New((Py_ssize_t)self->size);
    for (size_t i = 0; list != NULL && i < self->size; i++) {
        PyObject *item = which == 'r'   ? PyLong_FromLongLong(self->rows[i])
                         : which == 't' ? PyLong_FromLong(self->types[i])
                         : which == 'o' ? PyBool_FromLong(self->flags[self->types[i]] & OBSERVES)
                                        : PyBool_FromLong(self->optional[i]);
        if (item == NULL || PyList_SetItem(list, (Py_ssize_t)i, item)) {
            Py_CLEAR(list);
        }
    }
    return list;
}

static PyGetSetDef operations_properties[] = {
    {"rows", operations_get_column, NULL, "Rows of the table.", "r"},
    {"types", operations_get_column, NULL, "Equal where the types are.", "t"},
    {"observing", operations_get_column, NULL, "Which of them are observers.", "o"},
    {"optional", operations_get_column, NULL, "Which may or may not have happened.", "u"},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot operations_slots[] = {
    {Py_tp_doc, "What a search needs to know of some rows of a table."},
    {Py_tp_new, operations_new},
    {Py_tp_traverse, operations_traverse},
    {Py_tp_dealloc, operations_dealloc},
    {Py_tp_getset, operations_properties},
    {Py_sq_length, operations_length},
    {0, NULL},
};

PyType_Spec operations_spec = {
    .name = "rumpus.checker.linearizability._windowed_search.Operations",
    .basicsize = sizeof(Operations),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = operations_slots,
};
