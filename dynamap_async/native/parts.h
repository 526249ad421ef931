/* What the parts of the extension know of each other. */

#ifndef DYNAMAP_PARTS_H
#define DYNAMAP_PARTS_H

#include "json.h"

/* An item as its JSON, which was checked. */
typedef struct {
    PyObject_HEAD
    PyObject *source; /* the bytes that hold it */
    Text begin;
    Text end;
    PyObject *wire; /* the item in wire form, once somebody asked for it; NULL before */
    PyObject *kept; /* the JSON of those attributes that the decoder was to keep; NULL before, or where it is long */
} JsonItem;

extern PyTypeObject JsonItemType;
extern PyTypeObject AnswerReaderType;
extern PyTypeObject ItemDecoderType;
extern PyTypeObject ItemEncoderType;

/* Find what the decoder needs of Python; return -1, with an error set, where that fails. */
int decode_begin(void);

/* Return an item, which holds a reference to the bytes that it is in. */
PyObject *json_item(PyObject *source, Text begin, Text end);

#endif
