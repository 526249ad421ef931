/* JsonItem: an item of an answer, as its JSON; it becomes a dict in wire form when somebody looks into it. */

#include "owned.h"
#include "parts.h"

PyObject *
json_item(State *state, PyObject *source, Text begin, Text end)
{
    JsonItem *item = PyObject_New(JsonItem, state->json_item);
    if (item == NULL) {
        return NULL;
    }
    Py_INCREF(source);
    item->source = source;
    item->begin = begin;
    item->end = end;
    item->wire = NULL;
    item->kept = NULL;
    return (PyObject *)item;
}

static void
item_dealloc(JsonItem *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->wire);
    Py_XDECREF(self->kept);
    Py_DECREF(self->source);
    PyObject_Free(self);
    Py_DECREF(type);
}

void
json_item_keep(JsonItem *item, PyObject *kept)
{
    PyObject *before;
    Py_BEGIN_CRITICAL_SECTION(item);
    before = item->kept;
    item->kept = kept;
    Py_END_CRITICAL_SECTION();
    Py_XDECREF(before);
}

/* Return the dict that was made of the item; NULL, without an error, before. */
static PyObject *
made_wire(JsonItem *self)
{
    PyObject *wire;
    Py_BEGIN_CRITICAL_SECTION(self);
    wire = Py_XNewRef(self->wire);
    Py_END_CRITICAL_SECTION();
    return wire;
}

/* Return the item in wire form, always the same dict. */
static PyObject *
wire_of(JsonItem *self)
{
    PyObject *wire = made_wire(self), *made;
    Text at = self->begin;
    if (wire != NULL || (made = make_value(&at, self->end)) == NULL) {
        return wire;
    }
    Py_BEGIN_CRITICAL_SECTION(self);
    if (self->wire == NULL) { /* nobody was faster */
        self->wire = Py_NewRef(made);
    }
    wire = Py_NewRef(self->wire);
    Py_END_CRITICAL_SECTION();
    Py_DECREF(made);
    return wire;
}

static PyObject *
item_wire(JsonItem *self, PyObject *Py_UNUSED(ignored))
{
    return wire_of(self);
}

#define MOST_NAMES 4

/* Find up to MOST_NAMES attributes in one pass; what is found is the place of each value, NULL where there is none.
   Return whether that could be done, else the dict has to be asked.

   The last of several attributes of one name counts, as everywhere. Names that JSON has to escape are left to the
   dict. */
static int
find(JsonItem *self, PyObject **names, Py_ssize_t number, Text *found)
{
    Text wanted[MOST_NAMES], here, at = self->begin;
    Py_ssize_t lengths[MOST_NAMES];
    PyObject *wire = made_wire(self);
    if (wire != NULL) {
        Py_DECREF(wire);
        return 0;
    }
    for (Py_ssize_t i = 0; i < number; i++) {
        found[i] = NULL;
        wanted[i] = PyUnicode_Check(names[i]) ? PyUnicode_AsUTF8AndSize(names[i], &lengths[i]) : NULL;
        if (wanted[i] == NULL) { /* no text, or half of a surrogate pair */
            PyErr_Clear();
            return 0;
        }
    }
    while ((here = next_part(&at, '}')) != NULL) {
        int holds;
        Text close = text_end(here + 1, self->end, &holds, 1);
        if (holds & ESCAPES) {
            return 0;
        }
        at = after_name(close);
        for (Py_ssize_t i = 0; i < number; i++) {
            if (close - here - 1 == lengths[i] && memcmp(here + 1, wanted[i], (size_t)lengths[i]) == 0) {
                found[i] = at;
            }
        }
        at = skip_checked(at, self->end);
    }
    return 1;
}

/* Return an attribute value, or NULL; without an error where there is no such attribute.

   It is that at a place, as `find` tells it, or that in the dict. */
static PyObject *
found_value(JsonItem *self, PyObject *name, int is_found, Text found)
{
    if (is_found) {
        return found == NULL ? NULL : make_value(&found, self->end);
    }
    PyObject *wire = wire_of(self), *value = NULL;
    if (wire != NULL) {
        find_value(wire, name, &value);
        Py_DECREF(wire);
    }
    return value;
}

static PyObject *
attribute(JsonItem *self, PyObject *name)
{
    Text found = NULL;
    int is_found = find(self, &name, 1, &found);
    return found_value(self, name, is_found, found);
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
    PyObject *names[MOST_NAMES], *expected[MOST_NAMES];
    Text found[MOST_NAMES] = {NULL};
    Py_ssize_t at = 0, number = 0;
    if (!PyDict_Check(attributes)) {
        PyErr_SetString(PyExc_TypeError, "a dict of attributes expected");
        return NULL;
    }
    if (PyDict_GET_SIZE(attributes) > MOST_NAMES) {
        PyErr_SetString(PyExc_ValueError, "no key has so many attributes");
        return NULL;
    }
    while (number < MOST_NAMES && next_member(attributes, &at, &names[number], &expected[number])) {
        number++;
    }
    int is_found = find(self, names, number, found), equal = 1;
    for (Py_ssize_t i = 0; equal > 0 && i < number; i++) {
        PyObject *value = found_value(self, names[i], is_found, found[i]);
        equal = value != NULL ? PyObject_RichCompareBool(value, expected[i], Py_EQ) : PyErr_Occurred() ? -1 : 0;
        Py_XDECREF(value);
    }
    while (number > 0) {
        number--;
        Py_DECREF(names[number]);
        Py_DECREF(expected[number]);
    }
    return equal < 0 ? NULL : PyBool_FromLong(equal);
}

/* Return the text of an attribute value; NULL with a KeyError where it is of another type. */
static PyObject *
text_of(PyObject *value, PyObject *name)
{
    PyObject *text = NULL;
    if (value != NULL && PyDict_Check(value)) {
        find_text(value, "S", &text);
    }
    if (text == NULL && !PyErr_Occurred()) {
        PyErr_SetObject(PyExc_KeyError, name);
    }
    Py_XDECREF(value);
    return text;
}

static PyObject *
item_texts(JsonItem *self, PyObject *names)
{
    Text found[MOST_NAMES] = {NULL};
    if (!PyTuple_Check(names) || PyTuple_GET_SIZE(names) > MOST_NAMES) {
        PyErr_SetString(PyExc_TypeError, "a tuple of a few names expected");
        return NULL;
    }
    Py_ssize_t number = PyTuple_GET_SIZE(names);
    int is_found = find(self, PySequence_Fast_ITEMS(names), number, found);
    PyObject *texts = PyTuple_New(number);
    for (Py_ssize_t i = 0; texts != NULL && i < number; i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        PyObject *text = text_of(found_value(self, name, is_found, found[i]), name);
        if (text == NULL) {
            Py_CLEAR(texts);
        }
        else {
            PyTuple_SET_ITEM(texts, i, text);
        }
    }
    return texts;
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
    Py_ssize_t length = wire == NULL ? -1 : PyDict_GET_SIZE(wire);
    Py_XDECREF(wire);
    return length;
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
    PyObject *iterator = wire == NULL ? NULL : PyObject_GetIter(wire);
    Py_XDECREF(wire);
    return iterator;
}

/* Return what a method of the dict returns. */
static PyObject *
of_dict(JsonItem *self, const char *method)
{
    PyObject *wire = wire_of(self);
    PyObject *result = wire == NULL ? NULL : PyObject_CallMethod(wire, method, NULL);
    Py_XDECREF(wire);
    return result;
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
    PyObject *shown = wire == NULL ? NULL : PyObject_Repr(wire);
    Py_XDECREF(wire);
    return shown;
}

static PyObject *
item_richcompare(PyObject *self, PyObject *other, int how)
{
    PyObject *mine = wire_of((JsonItem *)self);
    PyObject *theirs = Py_IS_TYPE(other, Py_TYPE(self)) ? wire_of((JsonItem *)other) : Py_NewRef(other);
    PyObject *result = mine == NULL || theirs == NULL ? NULL : PyObject_RichCompare(mine, theirs, how);
    Py_XDECREF(mine);
    Py_XDECREF(theirs);
    return result;
}

/* Copies, and what is pickled, are plain dicts. */
static PyObject *
item_reduce(JsonItem *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *wire = wire_of(self);
    return wire == NULL ? NULL : Py_BuildValue("O(N)", (PyObject *)&PyDict_Type, wire);
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

static PyObject *
item_kept(JsonItem *self, void *Py_UNUSED(closure))
{
    PyObject *kept;
    Py_BEGIN_CRITICAL_SECTION(self);
    kept = Py_NewRef(self->kept == NULL ? Py_None : self->kept);
    Py_END_CRITICAL_SECTION();
    return kept;
}

static PyMethodDef item_methods[] = {
    {"wire", (PyCFunction)item_wire, METH_NOARGS, "Return the item in wire form, always the same dict."},
    {"get", (PyCFunction)item_get, METH_VARARGS, "Return an attribute value, or something else where there is none."},
    {"holds", (PyCFunction)item_holds, METH_O, "Return whether the item has all of some attributes, with their values."},
    {"texts", (PyCFunction)item_texts, METH_O,
     "Return the texts of some attributes; KeyError where one is of another type, or there is none."},
    {"keys", (PyCFunction)item_keys, METH_NOARGS, "Return the attribute names."},
    {"values", (PyCFunction)item_values, METH_NOARGS, "Return the attribute values."},
    {"items", (PyCFunction)item_items, METH_NOARGS, "Return the attribute names and values."},
    {"__reduce__", (PyCFunction)item_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef item_getset[] = {
    {"json", (getter)item_json, NULL, "The JSON.", NULL},
    {"json_bytes", (getter)item_json_bytes, NULL, "The length of the JSON.", NULL},
    {"kept", (getter)item_kept, NULL, "The JSON of those attributes that its decoder was to keep, or None.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot item_slots[] = {
    {Py_tp_doc, "An item of an answer, as its JSON; it becomes a dict in wire form when somebody looks into it."},
    {Py_tp_dealloc, item_dealloc},
    {Py_tp_repr, item_repr},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_tp_richcompare, item_richcompare},
    {Py_tp_iter, item_iter},
    {Py_tp_methods, item_methods},
    {Py_tp_getset, item_getset},
    {Py_mp_length, item_length},
    {Py_mp_subscript, item_subscript},
    {Py_sq_contains, item_contains},
    {Py_nb_bool, item_bool},
    {0, NULL},
};

PyType_Spec json_item_spec = {
    .name = "dynamap_async.native._codec.JsonItem",
    .basicsize = sizeof(JsonItem),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_MAPPING,
    .slots = item_slots,
};
