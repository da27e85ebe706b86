/* The module rumpus.checker.linearizability._windowed_search. */

#include "windowed_search.h"

static PyObject *
imported(const char *module, const char *name)
{
    PyObject *from = PyImport_ImportModule(module);
    if (from == NULL) {
        return NULL;
    }
    PyObject *found = PyObject_GetAttrString(from, name);
    Py_DECREF(from);
    return found;
}

static int
fill_module(PyObject *module)
{
    State *state = PyModule_GetState(module);
    if (state == NULL || !(state->illegal = imported("rumpus.checker.models.model", "ILLEGAL")) ||
        !(state->unknown = imported("rumpus.checker.models.model", "UNKNOWN")) ||
        !(state->refused = imported("rumpus.checker.models.model", "REFUSED")) ||
        !(state->wrong_model = imported("rumpus.checker.linearizability.operation_types",
                                        "WrongModel"))) {
        return -1;
    }
    struct {
        PyType_Spec *spec;
        PyObject **kept;
    } types[] = {
        {&transitions_spec, &state->transitions_type},
        {&operations_spec, &state->operations_type},
        {&search_spec, &state->search_type},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        *types[i].kept = PyType_FromModuleAndSpec(module, types[i].spec, NULL);
        if (*types[i].kept == NULL || PyModule_AddType(module, (PyTypeObject *)*types[i].kept)) {
            return -1;
        }
    }
    return 0;
}

static int
module_traverse(PyObject *module, visitproc visit, void *arg)
{
    State *state = PyModule_GetState(module);
    if (state != NULL) {
        Py_VISIT(state->illegal);
        Py_VISIT(state->unknown);
        Py_VISIT(state->refused);
        Py_VISIT(state->wrong_model);
        Py_VISIT(state->transitions_type);
        Py_VISIT(state->operations_type);
        Py_VISIT(state->search_type);
    }
    return 0;
}

static int
module_clear(PyObject *module)
{
    State *state = PyModule_GetState(module);
    if (state != NULL) {
        Py_CLEAR(state->illegal);
        Py_CLEAR(state->unknown);
        Py_CLEAR(state->refused);
        Py_CLEAR(state->wrong_model);
        Py_CLEAR(state->transitions_type);
        Py_CLEAR(state->operations_type);
        Py_CLEAR(state->search_type);
    }
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, fill_module},
    {0, NULL},
};

static struct PyModuleDef module_definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "rumpus.checker.linearizability._windowed_search",
    .m_doc = "The windowed search in C.",
    .m_size = sizeof(State),
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC
PyInit__windowed_search(void)
{
    return PyModuleDef_Init(&module_definition);
}
