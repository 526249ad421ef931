/* AnswerReader: the JSON object of an answer, with each stored item in it left as it is, a JsonItem.

   Items are what stands in `Items`, in `Item`, and in the arrays of `Responses`. Their text is checked here, so that an
   answer that was cut off or damaged is found out where it arrives. All other members are small, and read at once. */

#include "owned.h"
#include "parts.h"

/* Where the reader is. */
typedef enum { TOP, TABLES, ITEMS, OVER } Stage;

/* Its methods run in a critical section of the reader. That may be interrupted where objects are made:
   what the reader has is consistent then, and whatever is used afterwards is held. */
typedef struct {
    PyObject_HEAD
    State *state;
    PyObject *source;
    PyObject *answer;
    PyObject *tables; /* the `Responses` */
    PyObject *items;  /* the array that is being read */
    Text at;
    Text end;
    Stage stage;
    Stage within; /* where the array is */
    int begins;   /* whether the next byte opens an array or object */
} AnswerReader;

static int
reader_traverse(AnswerReader *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->answer);
    Py_VISIT(self->tables);
    Py_VISIT(self->items);
    return 0;
}

static int
reader_clear(AnswerReader *self)
{
    Py_CLEAR(self->answer);
    Py_CLEAR(self->tables);
    Py_CLEAR(self->items);
    Py_CLEAR(self->source);
    return 0;
}

static void
reader_dealloc(AnswerReader *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    reader_clear(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *
reader_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"text", NULL};
    PyObject *source;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "S:AnswerReader", names, &source)) {
        return NULL;
    }
    AnswerReader *self = (AnswerReader *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->state = state_of(type);
    self->source = Py_NewRef(source);
    self->at = PyBytes_AS_STRING(source);
    self->end = self->at + PyBytes_GET_SIZE(source);
    self->stage = TOP;
    self->begins = 1;
    self->answer = PyDict_New();
    if (self->answer == NULL) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static PyObject *
unusual(void)
{
    if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "the answer is no JSON object, or of an unusual form");
    }
    return NULL;
}

/* Move to the next part of an array or object, as `next_part` does, of text that was not checked yet.
   Return 1, 0 after the last, -1 where it is no JSON. */
static int
next_unchecked(AnswerReader *self, char open, char close)
{
    Text at = skip_space(self->at);
    int begins = self->begins;
    self->begins = 0;
    if (begins) {
        if (*at != open) {
            return -1;
        }
        at = skip_space(at + 1);
    }
    if (*at == close) {
        self->at = at + 1;
        return 0;
    }
    if (!begins) {
        if (*at != ',') {
            return -1;
        }
        at = skip_space(at + 1);
    }
    self->at = at;
    return 1;
}

/* Read a member's name and move to its value; NULL where it is no JSON. */
static PyObject *
read_name(AnswerReader *self)
{
    int holds;
    Text begin = self->at + 1;
    Text close = *self->at == '"' ? text_end(begin, self->end, &holds, 0) : NULL;
    if (close == NULL) {
        return NULL;
    }
    Text colon = skip_space(close + 1);
    if (*colon != ':') {
        return NULL;
    }
    self->at = skip_space(colon + 1);
    return make_text(begin, close, holds);
}

static PyObject *
read_item(AnswerReader *self)
{
    Text begin = self->at;
    Text end = *begin == '{' ? skip_value(begin, self->end, 0, 0) : NULL;
    if (end == NULL) {
        return NULL;
    }
    self->at = end;
    return json_item(self->state, self->source, begin, end);
}

/* Begin an array of items. */
static PyObject *
begin_items(AnswerReader *self)
{
    PyObject *items = PyList_New(0);
    if (items == NULL) {
        return NULL;
    }
    Py_XSETREF(self->items, Py_NewRef(items));
    self->within = self->stage;
    self->stage = ITEMS;
    self->begins = 1;
    return items;
}

/* Begin the object that has an array of items for each table. */
static PyObject *
begin_tables(AnswerReader *self)
{
    PyObject *tables = PyDict_New();
    if (tables == NULL) {
        return NULL;
    }
    Py_XSETREF(self->tables, Py_NewRef(tables));
    self->stage = TABLES;
    self->begins = 1;
    return tables;
}

/* Read a value that is no item: a count, a position, what was consumed. */
static PyObject *
read_other(AnswerReader *self)
{
    Text at = self->at, end = skip_value(at, self->end, 0, 1);
    if (end == NULL) {
        return NULL;
    }
    self->at = end;
    return make_value(&at, self->end);
}

static int
read_member(AnswerReader *self)
{
    PyObject *name = read_name(self), *value = NULL;
    if (name == NULL) {
        return -1;
    }
    if (*self->at == '[' && PyUnicode_CompareWithASCIIString(name, "Items") == 0) {
        value = begin_items(self);
    }
    else if (*self->at == '{' && PyUnicode_CompareWithASCIIString(name, "Item") == 0) {
        value = read_item(self);
    }
    else if (*self->at == '{' && PyUnicode_CompareWithASCIIString(name, "Responses") == 0) {
        value = begin_tables(self);
    }
    else {
        value = read_other(self);
    }
    int failed = value == NULL || PyDict_SetItem(self->answer, name, value) < 0;
    Py_DECREF(name);
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

static int
read_table(AnswerReader *self)
{
    PyObject *name = read_name(self);
    if (name == NULL) {
        return -1;
    }
    PyObject *items = *self->at == '[' ? begin_items(self) : NULL, *tables = Py_NewRef(self->tables);
    int failed = items == NULL || PyDict_SetItem(tables, name, items) < 0;
    Py_DECREF(name);
    Py_DECREF(tables);
    Py_XDECREF(items);
    return failed ? -1 : 0;
}

static int
read_element(AnswerReader *self)
{
    PyObject *item = read_item(self), *items = Py_NewRef(self->items);
    int failed = item == NULL || PyList_Append(items, item) < 0;
    Py_DECREF(items);
    Py_XDECREF(item);
    return failed ? -1 : 0;
}

/* Read the next part of where the reader is; return -1 where it is no JSON. */
static int
read_part(AnswerReader *self)
{
    int more = next_unchecked(self, self->stage == ITEMS ? '[' : '{', self->stage == ITEMS ? ']' : '}');
    if (more < 0) {
        return -1;
    }
    switch (self->stage) {
    case ITEMS:
        if (more) {
            return read_element(self);
        }
        self->stage = self->within;
        return 0;
    case TABLES:
        if (more) {
            return read_table(self);
        }
        self->stage = TOP;
        return 0;
    default:
        if (more) {
            return read_member(self);
        }
        self->stage = OVER;
        self->at = skip_space(self->at);
        return self->at == self->end ? 0 : -1;
    }
}

/* Read about so many bytes more; return -1 where it is no JSON. */
static int
read_more(AnswerReader *self, Py_ssize_t most)
{
    Text stop = self->end - self->at > most ? self->at + most : self->end;
    while (self->stage != OVER) {
        if (read_part(self) < 0) {
            return -1;
        }
        if (self->at >= stop) {
            break;
        }
    }
    return self->stage == OVER;
}

static PyObject *
reader_read(AnswerReader *self, PyObject *arg)
{
    Py_ssize_t most = PyLong_AsSsize_t(arg);
    if (most == -1 && PyErr_Occurred()) {
        return NULL;
    }
    int is_over;
    Py_BEGIN_CRITICAL_SECTION(self);
    is_over = read_more(self, most);
    Py_END_CRITICAL_SECTION();
    return is_over < 0 ? unusual() : PyBool_FromLong(is_over);
}

static PyObject *
reader_answer(AnswerReader *self, void *Py_UNUSED(closure))
{
    PyObject *answer;
    Py_BEGIN_CRITICAL_SECTION(self);
    answer = Py_NewRef(self->stage == OVER ? self->answer : Py_None);
    Py_END_CRITICAL_SECTION();
    return answer;
}

static PyMethodDef reader_methods[] = {
    {"read", (PyCFunction)reader_read, METH_O,
     "Read about so many bytes more; return whether all are read. ValueError: it is no answer of the usual form."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef reader_getset[] = {
    {"answer", (getter)reader_answer, NULL, "The JSON object; None until all of it is read.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot reader_slots[] = {
    {Py_tp_doc, "Reads the JSON object of an answer, and leaves each item in it as a JsonItem."},
    {Py_tp_new, reader_new},
    {Py_tp_dealloc, reader_dealloc},
    {Py_tp_traverse, reader_traverse},
    {Py_tp_clear, reader_clear},
    {Py_tp_methods, reader_methods},
    {Py_tp_getset, reader_getset},
    {0, NULL},
};

PyType_Spec answer_reader_spec = {
    .name = "dynamap_async.native._codec.AnswerReader",
    .basicsize = sizeof(AnswerReader),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = reader_slots,
};
