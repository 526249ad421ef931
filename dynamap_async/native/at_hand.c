/* AttributesAtHand: those attributes of an older item that its upgrades look at, as plain values; they change it.

   It is what a dict is, but for names that are not at hand. A subclass says what is raised then: its `missing` is called
   with the name, and raises. So nothing is taken for absent that was only not decoded. */

#include "parts.h"

typedef struct {
    PyObject_HEAD
    PyObject *values; /* name -> value, a dict */
    PyObject *names;  /* those that are at hand, a frozenset: which has no value here the item does not have */
} AttributesAtHand;

static PyObject *
view_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *values, *names;
    if (kwargs != NULL || !PyArg_ParseTuple(args, "O!O!:AttributesAtHand", &PyDict_Type, &values, &PyFrozenSet_Type, &names)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "AttributesAtHand() takes no keyword arguments");
        }
        return NULL;
    }
    AttributesAtHand *self = (AttributesAtHand *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    Py_INCREF(values);
    self->values = values;
    Py_INCREF(names);
    self->names = names;
    return (PyObject *)self;
}

static int
view_traverse(AttributesAtHand *self, visitproc visit, void *arg)
{
    Py_VISIT(self->values);
    Py_VISIT(self->names);
    return 0;
}

static int
view_clear(AttributesAtHand *self)
{
    Py_CLEAR(self->values);
    Py_CLEAR(self->names);
    return 0;
}

static void
view_dealloc(AttributesAtHand *self)
{
    PyObject_GC_UnTrack(self);
    view_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

/* Return whether a name without a value is at hand; -1, with the error that `missing` raises, for another one. */
static int
is_at_hand(AttributesAtHand *self, PyObject *name)
{
    int found = PySet_Contains(self->names, name);
    if (found != 0) {
        return found;
    }
    PyObject *given = PyObject_CallMethod((PyObject *)self, "missing", "O", name);
    if (given != NULL) {
        PyErr_SetString(PyExc_TypeError, "missing() has to raise an error");
        Py_DECREF(given);
    }
    return -1;
}

/* Return the value of an attribute, a borrowed reference; NULL without an error where the item has none. */
static PyObject *
value_of(AttributesAtHand *self, PyObject *name)
{
    PyObject *value = PyDict_GetItemWithError(self->values, name);
    if (value == NULL && !PyErr_Occurred()) {
        is_at_hand(self, name);
    }
    return value;
}

static PyObject *
view_subscript(AttributesAtHand *self, PyObject *name)
{
    PyObject *value = value_of(self, name);
    if (value == NULL && !PyErr_Occurred()) {
        PyErr_SetObject(PyExc_KeyError, name);
    }
    Py_XINCREF(value);
    return value;
}

static int
view_assign(AttributesAtHand *self, PyObject *name, PyObject *value)
{
    if (value != NULL) {
        return PyDict_SetItem(self->values, name, value);
    }
    if (value_of(self, name) == NULL && PyErr_Occurred()) {
        return -1;
    }
    return PyDict_DelItem(self->values, name);
}

static int
view_contains(AttributesAtHand *self, PyObject *name)
{
    PyObject *value = value_of(self, name);
    return value != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
}

static int
check_number(const char *method, Py_ssize_t number)
{
    if (number == 1 || number == 2) {
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "%s() takes a name, and perhaps a default", method);
    return -1;
}

static PyObject *
view_get(AttributesAtHand *self, PyObject *const *args, Py_ssize_t number)
{
    if (check_number("get", number) < 0) {
        return NULL;
    }
    PyObject *value = value_of(self, args[0]);
    if (value == NULL) {
        if (PyErr_Occurred()) {
            return NULL;
        }
        value = number == 2 ? args[1] : Py_None;
    }
    Py_INCREF(value);
    return value;
}

static PyObject *
view_pop(AttributesAtHand *self, PyObject *const *args, Py_ssize_t number)
{
    if (check_number("pop", number) < 0) {
        return NULL;
    }
    PyObject *value = value_of(self, args[0]);
    if (value != NULL) {
        Py_INCREF(value);
        if (PyDict_DelItem(self->values, args[0]) < 0) {
            Py_CLEAR(value);
        }
        return value;
    }
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (number == 1) {
        PyErr_SetObject(PyExc_KeyError, args[0]);
        return NULL;
    }
    Py_INCREF(args[1]);
    return args[1];
}

static PyMethodDef view_methods[] = {
    {"get", (PyCFunction)(void (*)(void))view_get, METH_FASTCALL, "Return the value of an attribute, or a default."},
    {"pop", (PyCFunction)(void (*)(void))view_pop, METH_FASTCALL,
     "Take an attribute out and return its value, or a default."},
    {NULL, NULL, 0, NULL},
};

static PyMappingMethods view_as_mapping = {
    .mp_subscript = (binaryfunc)view_subscript,
    .mp_ass_subscript = (objobjargproc)view_assign,
};

static PySequenceMethods view_as_sequence = {
    .sq_contains = (objobjproc)view_contains,
};

PyTypeObject AttributesAtHandType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "dynamap_async.native._codec.AttributesAtHand",
    .tp_doc = "Those attributes of an older item that its upgrades look at, as plain values.",
    .tp_basicsize = sizeof(AttributesAtHand),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = view_new,
    .tp_dealloc = (destructor)view_dealloc,
    .tp_traverse = (traverseproc)view_traverse,
    .tp_clear = (inquiry)view_clear,
    .tp_methods = view_methods,
    .tp_as_mapping = &view_as_mapping,
    .tp_as_sequence = &view_as_sequence,
};
