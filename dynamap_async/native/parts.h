/* What the parts of the extension know of each other. */

#ifndef DYNAMAP_PARTS_H
#define DYNAMAP_PARTS_H

#include "json.h"

/* What one load of the module has. It is complete before anybody sees the module, and does not change then; there is no
   other state outside of objects. Objects point to it: their type holds the module. */
typedef struct {
    PyTypeObject *json_item;
    PyTypeObject *datetime;
    PyTypeObject *timedelta;
    PyObject *utc;       /* the time zone */
    PyObject *decimal;   /* the class */
    PyObject *value;     /* names of attributes: `_value_`, */
    PyObject *integer;   /* `int`, */
    PyObject *utcoffset; /* and `utcoffset` */
} State;

/* Return the state of the module that a type is of. */
static inline State *
state_of(PyTypeObject *type)
{
    return PyType_GetModuleState(type);
}

/* An item as its JSON, which was checked.

   All but the last two never changes. These are read and set in a critical section of the item. */
typedef struct {
    PyObject_HEAD
    PyObject *source; /* the bytes that hold it */
    Text begin;
    Text end;
    PyObject *wire; /* the item in wire form, once somebody asked for it, and then always the same; NULL before */
    PyObject *kept; /* the JSON of those attributes that the decoder was to keep; NULL before, or where it is long */
} JsonItem;

extern PyType_Spec json_item_spec;
extern PyType_Spec answer_reader_spec;
extern PyType_Spec item_decoder_spec;
extern PyType_Spec item_encoder_spec;

/* Return the JSON of a value, given the type of what is JSON already, and the value; TypeError where it has none. */
PyObject *write_json(PyObject *module, PyObject *const *args, Py_ssize_t number);

/* Return an item, which holds a reference to the bytes that it is in. */
PyObject *json_item(State *state, PyObject *source, Text begin, Text end);

/* Keep the JSON of some attributes with an item, instead of what was kept; NULL for none. The reference is taken. */
void json_item_keep(JsonItem *item, PyObject *kept);

#endif
