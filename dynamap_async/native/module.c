/* The extension module; what it has is described in _codec.pyi.

   Each load makes a module of its own, with types of its own. Threads may use it without a lock of all Python: what
   protects an object stands at its struct. */

#include "parts.h"

#include <datetime.h>

static int
find_datetime(State *state)
{
    PyDateTime_CAPI *found = PyCapsule_Import(PyDateTime_CAPSULE_NAME, 0);
    (void)PyDateTimeAPI; /* where its header would keep that, for all interpreters of a process */
    if (found == NULL) {
        return -1;
    }
    state->datetime = (PyTypeObject *)Py_NewRef(found->DateTimeType);
    state->timedelta = (PyTypeObject *)Py_NewRef(found->DeltaType);
    state->utc = Py_NewRef(found->TimeZone_UTC);
    return 0;
}

static int
find_decimal(State *state)
{
    PyObject *decimal = PyImport_ImportModule("decimal");
    state->decimal = decimal == NULL ? NULL : PyObject_GetAttrString(decimal, "Decimal");
    Py_XDECREF(decimal);
    return state->decimal == NULL ? -1 : 0;
}

static int
make_names(State *state)
{
    state->value = PyUnicode_InternFromString("_value_");
    state->integer = PyUnicode_InternFromString("int");
    state->utcoffset = PyUnicode_InternFromString("utcoffset");
    return state->value == NULL || state->integer == NULL || state->utcoffset == NULL ? -1 : 0;
}

/* Add a type to the module; return it, or NULL with an error set. */
static PyTypeObject *
add_type(PyObject *module, PyType_Spec *spec)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    if (type != NULL && PyModule_AddType(module, type) < 0) {
        Py_CLEAR(type);
    }
    return type;
}

static int
module_exec(PyObject *module)
{
    PyType_Spec *others[] = {&answer_reader_spec, &item_decoder_spec, &item_encoder_spec};
    State *state = PyModule_GetState(module);
    state->json_item = add_type(module, &json_item_spec);
    if (state->json_item == NULL || find_datetime(state) < 0 || find_decimal(state) < 0 || make_names(state) < 0) {
        return -1;
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        PyTypeObject *type = add_type(module, others[i]);
        if (type == NULL) {
            return -1;
        }
        Py_DECREF(type);
    }
    return 0;
}

static int
module_traverse(PyObject *module, visitproc visit, void *arg)
{
    State *state = PyModule_GetState(module);
    Py_VISIT(state->json_item);
    Py_VISIT(state->datetime);
    Py_VISIT(state->timedelta);
    Py_VISIT(state->utc);
    Py_VISIT(state->decimal);
    return 0;
}

static int
module_clear(PyObject *module)
{
    State *state = PyModule_GetState(module);
    Py_CLEAR(state->json_item);
    Py_CLEAR(state->datetime);
    Py_CLEAR(state->timedelta);
    Py_CLEAR(state->utc);
    Py_CLEAR(state->decimal);
    Py_CLEAR(state->value);
    Py_CLEAR(state->integer);
    Py_CLEAR(state->utcoffset);
    return 0;
}

static void
module_free(void *module)
{
    module_clear(module);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
#if PY_VERSION_HEX >= 0x030C0000
    /* Those that share one lock: what the library is built on refuses interpreters with a lock of their own. */
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_SUPPORTED},
#endif
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static PyMethodDef functions[] = {
    {"write_json", (PyCFunction)(void (*)(void))write_json, METH_FASTCALL,
     "Return the JSON of a value, given the type of what is JSON already, and the value; TypeError: it has none."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_codec",
    .m_doc = "DynamoDB's JSON to Python values and back, each in one pass.",
    .m_size = sizeof(State),
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
    .m_methods = functions,
};

PyMODINIT_FUNC
PyInit__codec(void)
{
    return PyModuleDef_Init(&definition);
}
