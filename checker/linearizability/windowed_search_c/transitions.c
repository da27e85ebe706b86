/* States and types of one model by number, and the steps between them. */

#include "windowed_search.h"

/* Bytes of a set's table for each element, on average. */
enum { SET_ELEMENT = 3 * 16 };

/* The size of a state without those of its parts that are in the state before, too; 0 on errors. */
static size_t
size_of_state(PyObject *state, PyObject *before)
{
    size_t size = 64;
    int is_tuple = PyTuple_Check(state), is_set = PyFrozenSet_Check(state);
    if (!is_tuple && !is_set && !PyUnicode_Check(state) && !PyBytes_Check(state)) {
        return size;
    }
    Py_ssize_t length = PyObject_Size(state);
    if (length < 0) {
        return 0;
    }
    size += (size_t)length * (is_tuple ? sizeof(PyObject *) : is_set ? SET_ELEMENT : 1);
    Py_ssize_t shared = is_tuple && before != NULL && PyTuple_Check(before) ? PyTuple_Size(before) : 0;
    for (Py_ssize_t at = 0; is_tuple && at < length; at++) {
        PyObject *part = PyTuple_GetItem(state, at); /* borrowed, as that below */
        int part_is_set = PyFrozenSet_Check(part);
        if ((!part_is_set && !PyTuple_Check(part)) ||
            (at < shared && PyTuple_GetItem(before, at) == part)) {
            continue;
        }
        Py_ssize_t elements = PyObject_Size(part);
        if (elements < 0) {
            return 0;
        }
        size += 64 + (size_t)elements * (part_is_set ? SET_ELEMENT : sizeof(PyObject *));
    }
    return size;
}

/* The number of a state, new or not, which follows another one (NULL: none); NOT_LEGAL on errors. */
static int32_t
number_state(Transitions *self, PyObject *state, PyObject *before)
{
    PyObject *found = PyDict_GetItemWithError(self->state_numbers, state);
    if (found != NULL) {
        return (int32_t)PyLong_AsLong(found);
    }
    if (PyErr_Occurred()) {
        return NOT_LEGAL;
    }
    Py_ssize_t number = PyList_Size(self->states);
    if (number >= INT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "too many states");
        return NOT_LEGAL;
    }
    PyObject *boxed = PyLong_FromSsize_t(number);
    if (boxed == NULL) {
        return NOT_LEGAL;
    }
    int failed = PyDict_SetItem(self->state_numbers, state, boxed);
    Py_DECREF(boxed);
    if (failed || PyList_Append(self->states, state)) {
        return NOT_LEGAL;
    }
    if (PyList_Size(self->states) != number + 1) {
        PyErr_SetString(PyExc_RuntimeError, "comparing states ran a search of the same model");
        return NOT_LEGAL;
    }
    size_t size = size_of_state(state, before);
    if (size == 0) {
        return NOT_LEGAL;
    }
    self->state_bytes += 200 + size;
    return (int32_t)number;
}

/* The number of a type of operations, new or not; -1 on errors. */
int32_t
number_type(Transitions *self, const State *marks, PyObject *f, PyObject *argument,
            PyObject *result)
{
    /* Equal values of different types (1 and True) make different operations. */
    PyObject *key = PyTuple_Pack(5, f, argument, (PyObject *)Py_TYPE(argument), result,
                                 (PyObject *)Py_TYPE(result));
    if (key == NULL) {
        return -1;
    }
    PyObject *found = PyDict_GetItemWithError(self->type_numbers, key);
    if (found != NULL) {
        Py_DECREF(key);
        return (int32_t)PyLong_AsLong(found);
    }
    PyObject *boxed = NULL, *type = NULL;
    int32_t number = -1;
    Py_ssize_t count = PyList_Size(self->types);
    if (PyErr_Occurred()) {
        goto done;
    }
    if (count >= INT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "too many different operations");
        goto done;
    }
    int observes = result == marks->refused ? 1 : PySequence_Contains(self->observers, f);
    int overwrites = result == marks->refused ? 0 : PySequence_Contains(self->blind, f);
    if (observes < 0 || overwrites < 0) {
        goto done;
    }
    if (reserve((void **)&self->flags, &self->flags_room, (size_t)count + 1, 1)) {
        goto done;
    }
    self->flags[count] = (uint8_t)((observes ? OBSERVES : 0) | (overwrites ? OVERWRITES : 0));
    boxed = PyLong_FromSsize_t(count);
    type = PyTuple_Pack(3, f, argument, result);
    if (boxed == NULL || type == NULL || PyDict_SetItem(self->type_numbers, key, boxed) ||
        PyList_Append(self->types, type)) {
        goto done;
    }
    if (PyList_Size(self->types) != count + 1) {
        PyErr_SetString(PyExc_RuntimeError, "comparing values ran a search of the same model");
        goto done;
    }
    number = (int32_t)count;
done:
    Py_XDECREF(boxed);
    Py_XDECREF(type);
    Py_DECREF(key);
    return number;
}

/* Ask the model for a step; 0, or -1 with an exception set. */
int
ask(Transitions *self, const State *marks, PyObject *step, int32_t state, int32_t type,
    int32_t *after)
{
    PyObject *before = PyList_GetItem(self->states, state); /* borrowed, as those below */
    PyObject *operation = PyList_GetItem(self->types, type);
    if (before == NULL || operation == NULL) {
        return -1;
    }
    PyObject *f = PyTuple_GetItem(operation, 0);
    PyObject *argument = PyTuple_GetItem(operation, 1);
    PyObject *result = PyTuple_GetItem(operation, 2);
    PyObject *answer = PyObject_CallFunctionObjArgs(step, before, f, argument, result, NULL);
    if (answer == NULL) {
        return -1;
    }
    int failed = 0;
    if (answer == marks->illegal) {
        *after = NOT_LEGAL;
    } else {
        *after = number_state(self, answer, before);
        if (*after == NOT_LEGAL) {
            failed = 1;
        } else if (*after != state && (self->flags[type] & OBSERVES)) {
            PyErr_Format(marks->wrong_model,
                         "%S: %S with argument %R and result %R changed the state %R to %R, and "
                         "an observer or a refused operation changes none",
                         self->name, f, argument, result, before, answer);
            failed = 1;
        }
    }
    Py_DECREF(answer);
    self->misses++;
    if (failed || map_put(&self->known, (uint64_t)state, (uint64_t)type, *after)) {
        return -1;
    }
    return 0;
}

static size_t
transitions_bytes(const Transitions *self)
{
    return slots_soon(self->known.size, self->known.count) * sizeof(Cell) + self->state_bytes;
}

static PyObject *
transitions_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"model", NULL};
    PyObject *model;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O:Transitions", names, &model)) {
        return NULL;
    }
    allocfunc make = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Transitions *self = (Transitions *)make(type, 0);
    if (self == NULL) {
        return NULL;
    }
    PyObject *initial = PyObject_GetAttrString(model, "initial");
    if (initial == NULL || (self->model = PyWeakref_NewRef(model, NULL)) == NULL ||
        (self->name = PyObject_GetAttrString(model, "name")) == NULL ||
        (self->observers = PyObject_GetAttrString(model, "observers")) == NULL ||
        (self->blind = PyObject_GetAttrString(model, "blind")) == NULL ||
        (self->states = PyList_New(0)) == NULL || (self->state_numbers = PyDict_New()) == NULL ||
        (self->types = PyList_New(0)) == NULL || (self->type_numbers = PyDict_New()) == NULL ||
        (self->initial = number_state(self, initial, NULL)) == NOT_LEGAL) {
        Py_XDECREF(initial);
        Py_DECREF((PyObject *)self);
        return NULL;
    }
    Py_DECREF(initial);
    return (PyObject *)self;
}

static int
transitions_traverse(PyObject *object, visitproc visit, void *arg)
{
    Transitions *self = (Transitions *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->model);
    Py_VISIT(self->name);
    Py_VISIT(self->observers);
    Py_VISIT(self->blind);
    Py_VISIT(self->states);
    Py_VISIT(self->state_numbers);
    Py_VISIT(self->types);
    Py_VISIT(self->type_numbers);
    return 0;
}

static void
transitions_dealloc(PyObject *object)
{
    Transitions *self = (Transitions *)object;
    PyObject_GC_UnTrack(object);
    Py_CLEAR(self->model);
    Py_CLEAR(self->name);
    Py_CLEAR(self->observers);
    Py_CLEAR(self->blind);
    Py_CLEAR(self->states);
    Py_CLEAR(self->state_numbers);
    Py_CLEAR(self->types);
    Py_CLEAR(self->type_numbers);
    PyMem_Free(self->flags);
    PyMem_Free(self->known.cells);
    release(object);
}

static PyObject *
transitions_get_bytes(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromSize_t(transitions_bytes((Transitions *)self));
}

static PyObject *
transitions_get_misses(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromSize_t(((Transitions *)self)->misses);
}

static PyGetSetDef transitions_properties[] = {
    {"bytes", transitions_get_bytes, NULL, "About how much memory it takes.", NULL},
    {"misses", transitions_get_misses, NULL, "How often the model was asked.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot transitions_slots[] = {
    {Py_tp_doc, "States and types of one model, and the known steps between them."},
    {Py_tp_new, transitions_new},
    {Py_tp_traverse, transitions_traverse},
    {Py_tp_dealloc, transitions_dealloc},
    {Py_tp_getset, transitions_properties},
    {0, NULL},
};

PyType_Spec transitions_spec = {
    .name = "rumpus.checker.linearizability._windowed_search.Transitions",
    .basicsize = sizeof(Transitions),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = transitions_slots,
};
