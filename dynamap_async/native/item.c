/* JsonItem: an item of an answer, as its JSON; it becomes a dict in wire form when somebody looks into it. */

#include "parts.h"

PyObject *
json_item(PyObject *source, Text begin, Text end)
{
    JsonItem *item = PyObject_New(JsonItem, &JsonItemType);
    if (item == NULL) {
        return NULL;
    }
    Py_INCREF(source);
    item->source = source;
    item->begin = begin;
    item->end = end;
    item->wire = NULL;
    return (PyObject *)item;
}

static void
item_dealloc(JsonItem *self)
{
    Py_XDECREF(self->wire);
    Py_DECREF(self->source);
    PyObject_Free(self);
}

/* Return the item in wire form, always the same dict; a borrowed reference. */
static PyObject *
wire_of(JsonItem *self)
{
    if (self->wire == NULL) {
        Text at = self->begin;
        self->wire = make_value(&at, self->end);
    }
    return self->wire;
}

static PyObject *
item_wire(JsonItem *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *wire = wire_of(self);
    Py_XINCREF(wire);
    return wire;
}

/* Return an attribute value, or NULL; without an error where there is no such attribute.

   The last of several attributes of one name counts, as everywhere. Names that JSON has to escape are left to the
   dict. */
static PyObject *
attribute(JsonItem *self, PyObject *name)
{
    Py_ssize_t length;
    Text wanted = NULL, found = NULL, here, at = self->begin;
    if (self->wire == NULL && PyUnicode_Check(name)) {
        wanted = PyUnicode_AsUTF8AndSize(name, &length);
        if (wanted == NULL) { /* half of a surrogate pair, which no answer has */
            PyErr_Clear();
            return NULL;
        }
    }
    if (wanted != NULL) {
        while ((here = next_part(&at, '}')) != NULL) {
            int holds;
            Text close = text_end(here + 1, self->end, &holds, 1);
            if (holds & ESCAPES) {
                wanted = NULL;
                break;
            }
            at = after_name(close);
            if (close - here - 1 == length && memcmp(here + 1, wanted, (size_t)length) == 0) {
                found = at;
            }
            at = skip_checked(at, self->end);
        }
        if (wanted != NULL) {
            return found == NULL ? NULL : make_value(&found, self->end);
        }
    }
    PyObject *wire = wire_of(self);
    PyObject *value = wire == NULL ? NULL : PyDict_GetItemWithError(wire, name);
    Py_XINCREF(value);
    return value;
}

static PyObject *
item_subscript(JsonItem *self, PyObject *name)
{
    PyObject *value = attribute(self, name);
    if (value == NULL && !PyErr_Occurred()) {
        PyErr_SetObject(PyExc_KeyError, name);
    }
    return value;
}

static PyObject *
item_get(JsonItem *self, PyObject *args)
{
    PyObject *name, *otherwise = Py_None;
    if (!PyArg_ParseTuple(args, "O|O:get", &name, &otherwise)) {
        return NULL;
    }
    PyObject *value = attribute(self, name);
    if (value == NULL && !PyErr_Occurred()) {
        Py_INCREF(otherwise);
        return otherwise;
    }
    return value;
}

static PyObject *
item_holds(JsonItem *self, PyObject *attributes)
{
    PyObject *name, *expected;
    Py_ssize_t at = 0;
    if (!PyDict_Check(attributes)) {
        PyErr_SetString(PyExc_TypeError, "a dict of attributes expected");
        return NULL;
    }
    while (PyDict_Next(attributes, &at, &name, &expected)) {
        PyObject *value = attribute(self, name);
        int equal = value == NULL ? 0 : PyObject_RichCompareBool(value, expected, Py_EQ);
        Py_XDECREF(value);
        if (equal < 0 || PyErr_Occurred()) {
            return NULL;
        }
        if (!equal) {
            Py_RETURN_FALSE;
        }
    }
    Py_RETURN_TRUE;
}

static int
item_contains(PyObject *self, PyObject *name)
{
    PyObject *value = attribute((JsonItem *)self, name);
    Py_XDECREF(value);
    return value != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
}

static Py_ssize_t
item_length(JsonItem *self)
{
    PyObject *wire = wire_of(self);
    return wire == NULL ? -1 : PyDict_GET_SIZE(wire);
}

static int
item_bool(PyObject *self)
{
    return *skip_space(((JsonItem *)self)->begin + 1) != '}';
}

static PyObject *
item_iter(JsonItem *self)
{
    PyObject *wire = wire_of(self);
    return wire == NULL ? NULL : PyObject_GetIter(wire);
}

/* Return what a method of the dict returns. */
static PyObject *
of_dict(JsonItem *self, const char *method)
{
    PyObject *wire = wire_of(self);
    return wire == NULL ? NULL : PyObject_CallMethod(wire, method, NULL);
}

static PyObject *
item_keys(JsonItem *self, PyObject *Py_UNUSED(ignored))
{
    return of_dict(self, "keys");
}

static PyObject *
item_values(JsonItem *self, PyObject *Py_UNUSED(ignored))
{
    return of_dict(self, "values");
}

static PyObject *
item_items(JsonItem *self, PyObject *Py_UNUSED(ignored))
{
    return of_dict(self, "items");
}

static PyObject *
item_repr(JsonItem *self)
{
    PyObject *wire = wire_of(self);
    return wire == NULL ? NULL : PyObject_Repr(wire);
}

static PyObject *
item_richcompare(PyObject *self, PyObject *other, int how)
{
    PyObject *mine = wire_of((JsonItem *)self);
    PyObject *theirs = Py_TYPE(other) == &JsonItemType ? wire_of((JsonItem *)other) : other;
    return mine == NULL || theirs == NULL ? NULL : PyObject_RichCompare(mine, theirs, how);
}

/* Copies, and what is pickled, are plain dicts. */
static PyObject *
item_reduce(JsonItem *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *wire = wire_of(self);
    return wire == NULL ? NULL : Py_BuildValue("O(O)", (PyObject *)&PyDict_Type, wire);
}

static PyObject *
item_json(JsonItem *self, void *Py_UNUSED(closure))
{
    return PyBytes_FromStringAndSize(self->begin, self->end - self->begin);
}

static PyObject *
item_json_bytes(JsonItem *self, void *Py_UNUSED(closure))
{
    return PyLong_FromSsize_t(self->end - self->begin);
}

static PyMethodDef item_methods[] = {
    {"wire", (PyCFunction)item_wire, METH_NOARGS, "Return the item in wire form, always the same dict."},
    {"get", (PyCFunction)item_get, METH_VARARGS, "Return an attribute value, or something else where there is none."},
    {"holds", (PyCFunction)item_holds, METH_O, "Return whether the item has all of some attributes, with their values."},
    {"keys", (PyCFunction)item_keys, METH_NOARGS, "Return the attribute names."},
    {"values", (PyCFunction)item_values, METH_NOARGS, "Return the attribute values."},
    {"items", (PyCFunction)item_items, METH_NOARGS, "Return the attribute names and values."},
    {"__reduce__", (PyCFunction)item_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef item_getset[] = {
    {"json", (getter)item_json, NULL, "The JSON.", NULL},
    {"json_bytes", (getter)item_json_bytes, NULL, "The length of the JSON.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMappingMethods item_as_mapping = {
    .mp_length = (lenfunc)item_length,
    .mp_subscript = (binaryfunc)item_subscript,
};

static PySequenceMethods item_as_sequence = {
    .sq_contains = item_contains,
};

static PyNumberMethods item_as_number = {
    .nb_bool = item_bool,
};

PyTypeObject JsonItemType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "dynamap_async.native._codec.JsonItem",
    .tp_doc = "An item of an answer, as its JSON; it becomes a dict in wire form when somebody looks into it.",
    .tp_basicsize = sizeof(JsonItem),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_MAPPING,
    .tp_dealloc = (destructor)item_dealloc,
    .tp_repr = (reprfunc)item_repr,
    .tp_hash = PyObject_HashNotImplemented,
    .tp_richcompare = item_richcompare,
    .tp_iter = (getiterfunc)item_iter,
    .tp_methods = item_methods,
    .tp_getset = item_getset,
    .tp_as_mapping = &item_as_mapping,
    .tp_as_sequence = &item_as_sequence,
    .tp_as_number = &item_as_number,
};
