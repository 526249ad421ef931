/* ItemDecoder: the items of one model, from JSON to what Pydantic validates, in one pass.

   It is made of types, and gives what the decoders in Python give. Whatever it does not know, or is not as expected, makes it leave the whole item to them: it gives None in its place. So no error
   is judged here twice, and what is judged here is what is usual. */

#include "output.h"
#include "owned.h"
#include "parts.h"
#include "type.h"

#define CACHED 512
#define LONGEST_CACHED 24

/* Where Python has one lock for everything, that protects what was met last. Elsewhere a decoder has nothing of that: it
   never changes, and threads need not wait for each other. */
typedef struct {
    PyObject_HEAD
    State *state;
    Type fields;              /* `fields` */
    PyObject *mark;           /* a stored name, and the texts of its values by which items are counted; NULL for none */
    PyObject *marks;
    Type apart;               /* `fields`: attributes that are given apart, as plain values, and what is made of these later */
    Type plain;               /* that of plain values */
#ifndef Py_GIL_DISABLED
    PyObject *kept;           /* what was kept last: neighbours often have the same, or nothing */
    PyObject *texts[CACHED];  /* short texts that were met last: many repeat, and are kept once */
#endif
} ItemDecoder;

/* Items that are being read. */
typedef struct {
    ItemDecoder *of;
    Py_ssize_t unknown; /* how many members of nested values were left out */
    Py_ssize_t marked;  /* how many items have the mark */
} Reading;

/* What is found out about an item besides its values. */
typedef struct {
    Output kept;
    int marks;           /* how often it has the mark, or -1 where the attribute has another value */
    PyObject *apart;     /* stored name -> plain value of the attributes that are given apart; NULL where none are */
    Place *expected;     /* which of these comes next, probably */
} Found;

/* How many bytes of JSON are kept: of what is longer, most is text, which decoded values share with the instance. */
#define LONGEST_KEPT 1000

/* What readers return beside a value: NULL with an error set is an error, NULL without one that all is left to others. */
#define UNUSUAL NULL

/* ---- what was met last ---- */

#ifdef Py_GIL_DISABLED

static PyObject *
short_text(ItemDecoder *Py_UNUSED(self), Text begin, Text close)
{
    return make_text(begin, close, PLAIN);
}

static PyObject *
kept_text(ItemDecoder *Py_UNUSED(self), Output *kept)
{
    return PyBytes_FromStringAndSize(kept->text, kept->length);
}

static void
forget(ItemDecoder *Py_UNUSED(self))
{
}

#else

/* Return an ASCII text that is not empty. */
static PyObject *
short_text(ItemDecoder *self, Text begin, Text close)
{
    size_t length = (size_t)(close - begin), hash = length;
    for (size_t i = 0; i < length; i++) {
        hash = hash * 31 + (unsigned char)begin[i];
    }
    PyObject **cached = &self->texts[hash % CACHED], *known = *cached;
    if (known != NULL && (size_t)PyUnicode_GET_LENGTH(known) == length &&
        memcmp(PyUnicode_DATA(known), begin, length) == 0) {
        return Py_NewRef(known);
    }
    PyObject *made = make_text(begin, close, PLAIN);
    if (made != NULL) {
        Py_XSETREF(*cached, Py_NewRef(made));
    }
    return made;
}

/* Return what is kept of an item, as bytes. */
static PyObject *
kept_text(ItemDecoder *self, Output *kept)
{
    PyObject *last = self->kept;
    if (last == NULL || PyBytes_GET_SIZE(last) != kept->length ||
        memcmp(PyBytes_AS_STRING(last), kept->text, (size_t)kept->length) != 0) {
        last = PyBytes_FromStringAndSize(kept->text, kept->length);
        if (last == NULL) {
            return NULL;
        }
        Py_XSETREF(self->kept, last);
    }
    return Py_NewRef(last);
}

static void
forget(ItemDecoder *self)
{
    Py_XDECREF(self->kept);
    for (int i = 0; i < CACHED; i++) {
        Py_XDECREF(self->texts[i]);
    }
}

#endif

/* ---- reading values ---- */

static PyObject *read_value(Reading *reading, Type *type, Text *at, Text end);
static PyObject *read_parts(Reading *reading, Type *type, Text *at, Text end, Found *found);

/* Return what a function gives, or UNUSUAL where it raises: the decoder in Python raises the same again. */
static PyObject *
through(PyObject *function, PyObject *given)
{
    if (given == NULL) {
        return NULL;
    }
    PyObject *made = PyObject_CallOneArg(function, given);
    Py_DECREF(given);
    if (made == NULL && PyErr_ExceptionMatches(PyExc_Exception) && !PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyErr_Clear();
    }
    return made;
}

/* Return the value of a type that is made of what was decoded. */
static PyObject *
made_of(Type *type, PyObject *decoded)
{
    return type->make == NULL ? decoded : through(type->make, decoded);
}

/* Return a text, and move after its closing quote. The place is that of its opening one. */
static PyObject *
text_at(Reading *reading, Text *at, Text end)
{
    int holds;
    Text begin = *at + 1;
    Text close = text_end(begin, end, &holds, 1);
    *at = close + 1;
    Py_ssize_t length = close - begin;
    int is_short = holds == PLAIN && length <= LONGEST_CACHED && length > 0;
    return is_short ? short_text(reading->of, begin, close) : make_text(begin, close, holds);
}

/* Return a number of the usual form between two quotes as an int; UNUSUAL for another one. */
static PyObject *
usual_integer(Text at, Text close)
{
    int negative = *at == '-';
    at += negative;
    if (at == close || close - at > 18) {
        return UNUSUAL;
    }
    long long value = 0;
    for (; at < close; at++) {
        if (*at < '0' || *at > '9') {
            return UNUSUAL;
        }
        value = value * 10 + (*at - '0');
    }
    return PyLong_FromLongLong(negative ? -value : value);
}

/* Return a number of the usual form as a float; UNUSUAL for another one.

   Of up to 15 digits, with up to 22 after the point, the digits and the power of ten are exact as floats, so that their
   quotient is the nearest float: see EXACT_FLOATS. */
static PyObject *
usual_float(Text at, Text close)
{
    static const double POWERS[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    int negative = *at == '-', digits = 0, whole = 0, decimals = -1;
    long long value = 0;
    for (at += negative; at < close; at++) {
        if (*at == '.' && decimals < 0 && whole > 0) {
            decimals = 0;
            continue;
        }
        if (*at < '0' || *at > '9') {
            return UNUSUAL;
        }
        value = value * 10 + (*at - '0');
        digits += value > 0;
        whole += decimals < 0;
        decimals += decimals >= 0;
        if (digits > 15 || decimals > 22 || whole > 18) {
            return UNUSUAL;
        }
    }
    if (whole == 0 || decimals == 0 || !EXACT_FLOATS) {
        return UNUSUAL;
    }
    double result = (double)value / POWERS[decimals < 0 ? 0 : decimals];
    return PyFloat_FromDouble(negative ? -result : result);
}

/* Return a number as a plain value: an int, or a Decimal of up to 18 digits on each side of the point, the last of
   which is not 0; UNUSUAL for another one. */
static PyObject *
plain_number(State *state, Text begin, Text close)
{
    PyObject *made = usual_integer(begin, close);
    if (made != UNUSUAL || PyErr_Occurred()) {
        return made;
    }
    Text at = begin + (*begin == '-'), point = NULL;
    for (Text here = at; here < close; here++) {
        if (*here == '.' && point == NULL) {
            point = here;
        }
        else if (*here < '0' || *here > '9') {
            return UNUSUAL;
        }
    }
    if (point == NULL || point == at || point - at > 18 || close - point < 2 || close - point > 19 || close[-1] == '0') {
        return UNUSUAL;
    }
    return PyObject_CallFunction(state->decimal, "s#", begin, (Py_ssize_t)(close - begin));
}

static PyObject *
read_plain_number(Reading *reading, Text *at, Text end)
{
    int holds;
    Text begin = *at + 1;
    Text close = text_end(begin, end, &holds, 1);
    *at = close + 1;
    return plain_number(reading->of->state, begin, close);
}

static PyObject *
texts_at(Reading *reading, Text *at, Text end)
{
    PyObject *made = PyList_New(0);
    Text here;
    while (made != NULL && (here = next_part(at, ']')) != NULL) {
        *at = here;
        PyObject *each = *here == '"' ? text_at(reading, at, end) : UNUSUAL;
        if (each == NULL || PyList_Append(made, each) < 0) {
            Py_CLEAR(made);
        }
        Py_XDECREF(each);
    }
    return made;
}

/* Return whether an attribute value is NULL, and move after it if it is. */
static int
skip_null(Text *at)
{
    Text here = **at == '{' ? skip_space(*at + 1) : NULL;
    if (here == NULL || strncmp(here, "\"NULL\"", 6) != 0) {
        return 0;
    }
    here = after_name(here + 5);
    if (*here != 't') {
        return 0;
    }
    here = skip_space(here + 4);
    if (*here != '}') { /* a second type */
        return 0;
    }
    *at = here + 1;
    return 1;
}

static PyObject *
list_at(Reading *reading, Type *member, Text *at, Text end)
{
    PyObject *made = PyList_New(0);
    Text here;
    while (made != NULL && (here = next_part(at, ']')) != NULL) {
        *at = here;
        PyObject *each = read_value(reading, member, at, end);
        if (each == NULL || PyList_Append(made, each) < 0) {
            Py_CLEAR(made);
        }
        Py_XDECREF(each);
    }
    return made;
}

static PyObject *
map_at(Reading *reading, Type *member, Text *at, Text end)
{
    PyObject *made = PyDict_New();
    Text here;
    while (made != NULL && (here = next_part(at, '}')) != NULL) {
        Text after = here;
        PyObject *name = text_at(reading, &after, end);
        *at = after_name(after - 1);
        PyObject *each = name == NULL ? NULL : read_value(reading, member, at, end);
        if (each == NULL || PyDict_SetItem(made, name, each) < 0) {
            Py_CLEAR(made);
        }
        Py_XDECREF(name);
        Py_XDECREF(each);
    }
    return made;
}

/* Return what stands after one of the usual types as a plain Python value, and move after it; UNUSUAL for others. */
static PyObject *
any_at(Reading *reading, Type *type, Text tag, Text *at, Text end)
{
    if (strncmp(tag, "SS\"", 3) == 0 && **at == '[') {
        PyObject *texts = texts_at(reading, at, end);
        PyObject *made = texts == NULL ? NULL : PySet_New(texts);
        Py_XDECREF(texts);
        return made;
    }
    switch (tag[1] == '"' ? tag[0] : '"') {
    case 'S':
        return **at == '"' ? text_at(reading, at, end) : UNUSUAL;
    case 'N':
        return **at == '"' ? read_plain_number(reading, at, end) : UNUSUAL;
    case 'M':
        return **at == '{' ? map_at(reading, type, at, end) : UNUSUAL;
    case 'L':
        return **at == '[' ? list_at(reading, type, at, end) : UNUSUAL;
    default:
        return strncmp(tag, "BOOL\"", 5) == 0 && (**at == 't' || **at == 'f') ? make_value(at, end) : UNUSUAL;
    }
}

/* Return an attribute value as a plain Python value, given its place, and move after it. */
static PyObject *
read_any(Reading *reading, Type *type, Text *at, Text end)
{
    if (skip_null(at)) {
        Py_RETURN_NONE;
    }
    Text here = **at == '{' ? skip_space(*at + 1) : *at;
    if (*here == '"') {
        Text tag = here + 1;
        here = strchr(tag, '"');
        if (here == NULL) {
            return UNUSUAL;
        }
        here = after_name(here);
        PyObject *made = any_at(reading, type, tag, &here, end);
        if (made != NULL && *(here = skip_space(here)) == '}') {
            *at = here + 1;
            return made;
        }
        Py_XDECREF(made); /* a second type */
        if (PyErr_Occurred()) {
            return NULL;
        }
    }
    return through(type->decode, make_value(at, end));
}

/* Return whether four digits stand at a place. */
static int
is_year(Text at)
{
    for (int i = 0; i < 4; i++) {
        if (at[i] < '0' || at[i] > '9') {
            return 0;
        }
    }
    return 1;
}

/* The readers that follow are given the place of what stands after the tag, and move after it; those of kinds without a
   tag are given the place of the attribute value. */

static PyObject *
read_boolean(Reading *Py_UNUSED(reading), Type *Py_UNUSED(type), Text *at, Text end)
{
    return **at == 't' || **at == 'f' ? make_value(at, end) : UNUSUAL;
}

/* Return a number, or what is made of the text of one that is unusual. */
static PyObject *
read_number(Reading *reading, Type *type, Text *at, Text end, PyObject *(*usual)(Text, Text))
{
    if (**at != '"') {
        return UNUSUAL;
    }
    int holds;
    Text begin = *at + 1;
    Text close = text_end(begin, end, &holds, 1);
    PyObject *made = usual(begin, close);
    if (made == UNUSUAL && !PyErr_Occurred()) {
        return made_of(type, text_at(reading, at, end));
    }
    *at = close + 1;
    return made;
}

static PyObject *
read_integer(Reading *reading, Type *type, Text *at, Text end)
{
    return read_number(reading, type, at, end, usual_integer);
}

static PyObject *
read_floating(Reading *reading, Type *type, Text *at, Text end)
{
    return read_number(reading, type, at, end, usual_float);
}

static PyObject *
read_text(Reading *reading, Type *type, Text *at, Text end)
{
    PyObject *text = **at == '"' ? text_at(reading, at, end) : UNUSUAL;
    if (text != NULL && type->among != NULL) {
        int known = PySet_Contains(type->among, text);
        if (known != 1) {
            Py_DECREF(text);
            return NULL;
        }
    }
    return made_of(type, text);
}

/* Return the text of a date or time; where that is left to be parsed, only one that begins with a year and a hyphen:
   another one may be a number, and is left to be judged. */
static PyObject *
read_dated(Reading *reading, Type *type, Text *at, Text end)
{
    if (type->make == NULL && !(**at == '"' && is_year(*at + 1) && (*at)[5] == '-')) {
        return UNUSUAL;
    }
    return read_text(reading, type, at, end);
}

static PyObject *
read_texts(Reading *reading, Type *type, Text *at, Text end)
{
    return made_of(type, **at == '[' ? texts_at(reading, at, end) : UNUSUAL);
}

static PyObject *
read_list(Reading *reading, Type *type, Text *at, Text end)
{
    return made_of(type, **at == '[' ? list_at(reading, type->inner, at, end) : UNUSUAL);
}

static PyObject *
read_map(Reading *reading, Type *type, Text *at, Text end)
{
    return made_of(type, **at == '{' ? map_at(reading, type->inner, at, end) : UNUSUAL);
}

static PyObject *
read_fields(Reading *reading, Type *type, Text *at, Text end)
{
    return made_of(type, **at == '{' ? read_parts(reading, type, at, end, NULL) : UNUSUAL);
}

static PyObject *
read_enum(Reading *reading, Type *type, Text *at, Text end)
{
    return made_of(type, read_value(reading, type->inner, at, end));
}

static PyObject *
read_optional(Reading *reading, Type *type, Text *at, Text end)
{
    if (skip_null(at)) {
        Py_RETURN_NONE;
    }
    return read_value(reading, type->inner, at, end);
}

static PyObject *
read_other(Reading *Py_UNUSED(reading), Type *type, Text *at, Text end)
{
    return through(type->decode, make_value(at, end));
}

#define AS_TAG(name, tag, reader) tag,
static const char *const TAGS[] = {KINDS(AS_TAG)};

#define AS_READER(name, tag, reader) \
    case KIND_##name:                \
        return read_##reader(reading, type, at, end);

static inline PyObject *
read_content(Reading *reading, Type *type, Text *at, Text end)
{
    switch (type->kind) {
        KINDS(AS_READER)
    }
    return UNUSUAL;
}

/* Return the value of a type, given the place of an attribute value, and move after it. */
static PyObject *
read_value(Reading *reading, Type *type, Text *at, Text end)
{
    if (!type->reads) {
        return read_other(reading, type, at, end);
    }
    const char *tag = TAGS[type->kind];
    if (*tag == '\0') {
        return read_content(reading, type, at, end);
    }
    Text here = *at;
    if (*here != '{') {
        return UNUSUAL;
    }
    here = skip_space(here + 1);
    if (*here != '"') {
        return UNUSUAL;
    }
    here++;
    while (*tag && *tag == *here) {
        tag++;
        here++;
    }
    if (*tag || *here != '"') {
        return UNUSUAL;
    }
    here = after_name(here);
    PyObject *made = read_content(reading, type, &here, end);
    if (made == NULL) {
        return NULL;
    }
    here = skip_space(here);
    if (*here != '}') { /* a second type */
        Py_DECREF(made);
        return UNUSUAL;
    }
    *at = here + 1;
    return made;
}

/* Return the part of a stored name; NULL for an unknown one. The items of a page are alike, mostly, so that it is
   the one which came at this place before. */
static Part *
find_part(Type *fields, Place *expected, Text name, Py_ssize_t length)
{
    Py_ssize_t place = guessed(expected);
    if (place < fields->parts_number) {
        Part *field = &fields->parts[place];
        if (field->length == length && memcmp(field->text, name, (size_t)length) == 0) {
            return field;
        }
    }
    for (Py_ssize_t i = 0; i < fields->parts_number; i++) {
        Part *field = &fields->parts[i];
        if (field->length == length && memcmp(field->text, name, (size_t)length) == 0) {
            guess(expected, i);
            return field;
        }
    }
    return NULL;
}

static int
add_absent(Type *fields, PyObject *values)
{
    for (Py_ssize_t i = 0; i < fields->absent_number; i++) {
        Absent *each = &fields->absent[i];
        int found = PyDict_Contains(values, each->name);
        if (found < 0) {
            return -1;
        }
        if (!found) {
            PyObject *value = PyObject_CallNoArgs(each->make);
            if (value == NULL || PyDict_SetItem(values, each->name, value) < 0) {
                Py_XDECREF(value);
                return -1;
            }
            Py_DECREF(value);
        }
    }
    return 0;
}

/* Keep a member, unless it is too long with what is kept already; then no room is left for others either. */
static int
keep(Output *kept, Text begin, Text end)
{
    if (end - begin > LONGEST_KEPT - kept->length) {
        kept->length = LONGEST_KEPT + 1;
        return 0;
    }
    return (kept->length > 1 && WRITE(kept, ",") < 0) || write_bytes(kept, begin, end - begin) < 0 ? -1 : 0;
}

/* Return whether a member is the mark of an item, and move after it if it is. */
static int
skip_mark(Reading *reading, Text name, Py_ssize_t length, Text *at, Text end, Found *found)
{
    Py_ssize_t own = 0;
    Text mark = reading->of->mark == NULL ? NULL : PyUnicode_AsUTF8AndSize(reading->of->mark, &own);
    if (mark == NULL || length != own || memcmp(name, mark, (size_t)length) != 0) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(reading->of->marks); i++) {
        PyObject *text = PyTuple_GET_ITEM(reading->of->marks, i);
        Py_ssize_t size = PyBytes_GET_SIZE(text);
        if (end - *at >= size && memcmp(*at, PyBytes_AS_STRING(text), (size_t)size) == 0) {
            *at += size;
            found->marks += found->marks >= 0;
            return 1;
        }
    }
    *at = skip_checked(*at, end);
    found->marks = -1;
    return 1;
}

/* Return whether a member is one of those that are given apart, and move after it if it is; -1 for what is left to
   others, and for an error. */
static int
read_apart(Reading *reading, Text name, Py_ssize_t length, Text *at, Text end, Found *found)
{
    Part *field = found->apart == NULL ? NULL : find_part(&reading->of->apart, found->expected, name, length);
    if (field == NULL) {
        return 0;
    }
    found->expected = &field->follower;
    PyObject *value = read_any(reading, &reading->of->plain, at, end);
    int failed = value == NULL || PyDict_SetItem(found->apart, field->stored, value) < 0;
    Py_XDECREF(value);
    return failed ? -1 : 1;
}

/* Return the values of an object, and move after it. What is found out about an item is noted; NULL for a nested value. */
static PyObject *
read_parts(Reading *reading, Type *fields, Text *at, Text end, Found *found)
{
    PyObject *values = PyDict_New();
    Place *expected = &fields->first;
    Text here;
    while (values != NULL && (here = next_part(at, '}')) != NULL) {
        int holds;
        Text close = text_end(here + 1, end, &holds, 1);
        *at = after_name(close);
        Part *field = holds & ESCAPES ? NULL : find_part(fields, expected, here + 1, close - here - 1);
        if (field == NULL) {
            int known = 0;
            if (found != NULL && !(holds & ESCAPES)) {
                known = skip_mark(reading, here + 1, close - here - 1, at, end, found);
                known = known ? known : read_apart(reading, here + 1, close - here - 1, at, end, found);
            }
            if (known > 0) {
                continue;
            }
            if (known < 0 || holds & ESCAPES || !fields->drops) {
                Py_DECREF(values);
                return UNUSUAL;
            }
            reading->unknown += found == NULL;
            *at = skip_checked(*at, end);
            continue;
        }
        expected = &field->follower;
        PyObject *value = read_value(reading, &field->type, at, end);
        if (value == NULL && field->of_null != NULL && !PyErr_Occurred() && skip_null(at)) {
            value = PyObject_CallNoArgs(field->of_null);
        }
        if (value == NULL || PyDict_SetItem(values, field->name, value) < 0 ||
            (field->kept && found != NULL && keep(&found->kept, here, *at) < 0)) {
            Py_CLEAR(values);
        }
        Py_XDECREF(value);
    }
    if (values != NULL && PyDict_GET_SIZE(values) < fields->parts_number && add_absent(fields, values) < 0) {
        Py_CLEAR(values);
    }
    return values;
}

/* ---- taking plain values ---- */

static PyObject *take_value(ItemDecoder *self, Type *type, PyObject *plain);
static Py_ssize_t put_parts(ItemDecoder *self, Type *fields, PyObject *plain, PyObject *values);

/* Return the text that a number is stored as; UNUSUAL for what is none, and for one that may be outside of all limits. */
static PyObject *
number_text(ItemDecoder *self, PyObject *value)
{
    if (!PyLong_CheckExact(value) && (PyObject *)Py_TYPE(value) != self->state->decimal) {
        return UNUSUAL;
    }
    PyObject *text = PyObject_Str(value);
    Py_ssize_t length;
    Text begin = text == NULL ? NULL : PyUnicode_AsUTF8AndSize(text, &length);
    if (begin == NULL) {
        Py_XDECREF(text);
        return NULL;
    }
    length = usual_decimal(&begin, length);
    PyObject *made = length > 0 ? PyUnicode_FromStringAndSize(begin, length) : UNUSUAL;
    Py_DECREF(text);
    return made;
}

/* Return the number of a plain value, by its text: as it is usual, or what is made of the text. */
static PyObject *
take_number(ItemDecoder *self, Type *type, PyObject *plain, PyObject *(*usual)(Text, Text))
{
    PyObject *text = number_text(self, plain), *made = UNUSUAL;
    Py_ssize_t length;
    Text begin = text == NULL ? NULL : PyUnicode_AsUTF8AndSize(text, &length);
    if (begin != NULL && type->kind == KIND_any) {
        made = plain_number(self->state, begin, begin + length);
    }
    else if (begin != NULL) {
        made = usual != NULL ? usual(begin, begin + length) : UNUSUAL;
        if (made == UNUSUAL && !PyErr_Occurred()) {
            return made_of(type, text);
        }
    }
    Py_XDECREF(text);
    return made;
}

static PyObject *
take_integer(ItemDecoder *self, Type *type, PyObject *plain)
{
    return take_number(self, type, plain, usual_integer);
}

static PyObject *
take_floating(ItemDecoder *self, Type *type, PyObject *plain)
{
    return take_number(self, type, plain, usual_float);
}

static PyObject *
take_any(ItemDecoder *self, Type *type, PyObject *plain)
{
    if (PyUnicode_CheckExact(plain) || PyBool_Check(plain) || plain == Py_None) {
        return Py_NewRef(plain);
    }
    return take_number(self, type, plain, NULL);
}

static PyObject *
take_boolean(ItemDecoder *Py_UNUSED(self), Type *Py_UNUSED(type), PyObject *plain)
{
    return PyBool_Check(plain) ? Py_NewRef(plain) : UNUSUAL;
}

static PyObject *
take_text(ItemDecoder *self, Type *type, PyObject *plain)
{
    if (*TAGS[type->kind] == 'N') {
        return take_number(self, type, plain, NULL);
    }
    if (*TAGS[type->kind] != 'S' || !PyUnicode_CheckExact(plain)) {
        return UNUSUAL;
    }
    if (type->among != NULL) {
        int known = PySet_Contains(type->among, plain);
        if (known != 1) {
            return UNUSUAL;
        }
    }
    return made_of(type, Py_NewRef(plain));
}

static PyObject *
take_dated(ItemDecoder *self, Type *type, PyObject *plain)
{
    int is_dated = PyUnicode_CheckExact(plain) && PyUnicode_GET_LENGTH(plain) > 4 && PyUnicode_READ_CHAR(plain, 4) == '-';
    return type->make == NULL && !is_dated ? UNUSUAL : take_text(self, type, plain);
}

/* Return the texts of a set that is not empty in their order; UNUSUAL for other values. */
static PyObject *
take_texts(ItemDecoder *Py_UNUSED(self), Type *type, PyObject *plain)
{
    if (!PyAnySet_CheckExact(plain) || PySet_GET_SIZE(plain) == 0) {
        return UNUSUAL;
    }
    PyObject *made = PySequence_List(plain);
    for (Py_ssize_t i = 0; made != NULL && i < PyList_GET_SIZE(made); i++) {
        if (!PyUnicode_CheckExact(PyList_GET_ITEM(made, i))) {
            Py_CLEAR(made);
        }
    }
    if (made != NULL && PyList_Sort(made) < 0) {
        Py_CLEAR(made);
    }
    return made_of(type, made);
}

static PyObject *
take_list(ItemDecoder *self, Type *type, PyObject *plain)
{
    PyObject *given, *made = PyList_CheckExact(plain) ? PyList_New(0) : UNUSUAL;
    for (Py_ssize_t i = 0; made != NULL && (given = element_at(plain, i)) != NULL; i++) {
        PyObject *each = take_value(self, type->inner, given);
        if (each == NULL || PyList_Append(made, each) < 0) {
            Py_CLEAR(made);
        }
        Py_XDECREF(each);
        Py_DECREF(given);
    }
    return made_of(type, made);
}

static PyObject *
take_map(ItemDecoder *self, Type *type, PyObject *plain)
{
    PyObject *name, *value, *made = PyDict_CheckExact(plain) ? PyDict_New() : UNUSUAL;
    Py_ssize_t place = 0;
    while (made != NULL && next_member(plain, &place, &name, &value)) {
        PyObject *each = PyUnicode_CheckExact(name) ? take_value(self, type->inner, value) : UNUSUAL;
        if (each == NULL || PyDict_SetItem(made, name, each) < 0) {
            Py_CLEAR(made);
        }
        Py_XDECREF(each);
        Py_DECREF(value);
        Py_DECREF(name);
    }
    return made_of(type, made);
}

static PyObject *
take_fields(ItemDecoder *self, Type *type, PyObject *plain)
{
    PyObject *values = PyDict_CheckExact(plain) ? PyDict_New() : UNUSUAL;
    if (values != NULL && (put_parts(self, type, plain, values) < PyDict_GET_SIZE(plain) ||
                           (PyDict_GET_SIZE(values) < type->parts_number && add_absent(type, values) < 0))) {
        Py_CLEAR(values);
    }
    return made_of(type, values);
}

static PyObject *
take_enum(ItemDecoder *self, Type *type, PyObject *plain)
{
    return made_of(type, take_value(self, type->inner, plain));
}

static PyObject *
take_optional(ItemDecoder *self, Type *type, PyObject *plain)
{
    return plain == Py_None ? Py_NewRef(plain) : take_value(self, type->inner, plain);
}

static PyObject *
take_other(ItemDecoder *Py_UNUSED(self), Type *Py_UNUSED(type), PyObject *Py_UNUSED(plain))
{
    return UNUSUAL;
}

#define AS_TAKER(name, tag, reader) \
    case KIND_##name:               \
        return take_##reader(self, type, plain);

/* Return the value of a type that is stored as a plain value is; UNUSUAL where that is left to others.

   It is what `read_value` gives of the stored value, without one. Lists and dicts are copied, as the plain ones may be
   constants of a program. */
static PyObject *
take_value(ItemDecoder *self, Type *type, PyObject *plain)
{
    if (!type->reads) {
        return UNUSUAL;
    }
    switch (type->kind) {
        KINDS(AS_TAKER)
    }
    return UNUSUAL;
}

/* Put the values of fields that plain values have by their stored names among others; return how many these were, -1
   where that is left to others, and for an error. A field without a name is looked at, and not put. */
static Py_ssize_t
put_parts(ItemDecoder *self, Type *fields, PyObject *plain, PyObject *values)
{
    Py_ssize_t number = 0;
    for (Py_ssize_t i = 0; i < fields->parts_number; i++) {
        Part *field = &fields->parts[i];
        PyObject *given;
        int found = find_value(plain, field->stored, &given);
        if (found < 0) {
            return -1;
        }
        if (!found) {
            continue;
        }
        number++;
        PyObject *value = given == Py_None && field->of_null != NULL ? PyObject_CallNoArgs(field->of_null)
                                                                     : take_value(self, &field->type, given);
        Py_DECREF(given);
        int failed = value == NULL || (PyUnicode_GET_LENGTH(field->name) && PyDict_SetItem(values, field->name, value) < 0);
        Py_XDECREF(value);
        if (failed) {
            return -1;
        }
    }
    return number;
}

/* ---- the type ---- */

static PyObject *
decoder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"fields", "mark", "apart", "plain", NULL};
    PyObject *fields, *mark = NULL, *marks = NULL, *apart = NULL, *plain = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!|(UO!)O!O!:ItemDecoder", names, &PyTuple_Type, &fields, &mark,
                                     &PyTuple_Type, &marks, &PyTuple_Type, &apart, &PyTuple_Type, &plain)) {
        return NULL;
    }
    if ((apart == NULL) != (plain == NULL)) {
        PyErr_SetString(PyExc_TypeError, "what is given apart is given as a plain type");
        return NULL;
    }
    for (Py_ssize_t i = 0; marks != NULL && i < PyTuple_GET_SIZE(marks); i++) {
        if (!PyBytes_Check(PyTuple_GET_ITEM(marks, i))) {
            PyErr_SetString(PyExc_TypeError, "the values of a mark are bytes");
            return NULL;
        }
    }
    ItemDecoder *self = (ItemDecoder *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->state = state_of(type);
    self->mark = Py_XNewRef(mark);
    self->marks = Py_XNewRef(marks);
    if (make_type(&self->fields, fields) < 0 ||
        (apart != NULL && (make_type(&self->apart, apart) < 0 || make_type(&self->plain, plain) < 0))) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static int
decoder_traverse(ItemDecoder *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    int visited = visit_type(&self->fields, visit, arg);
    visited = visited ? visited : visit_type(&self->apart, visit, arg);
    return visited ? visited : visit_type(&self->plain, visit, arg);
}

static int
decoder_clear(ItemDecoder *self)
{
    free_type(&self->fields);
    free_type(&self->apart);
    free_type(&self->plain);
    return 0;
}

static void
decoder_dealloc(ItemDecoder *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    decoder_clear(self);
    Py_XDECREF(self->mark);
    Py_XDECREF(self->marks);
    forget(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

/* Return the values of an item; None where it is left to others; NULL for an error. What is given apart is put into a
   dict, unless that is NULL. */
static PyObject *
decode_item(Reading *reading, PyObject *item, PyObject *apart)
{
    ItemDecoder *self = reading->of;
    if (!Py_IS_TYPE(item, self->state->json_item)) {
        Py_RETURN_NONE;
    }
    Text at = ((JsonItem *)item)->begin;
    Found found;
    Output *kept = &found.kept;
    found.marks = 0;
    found.apart = apart;
    found.expected = &self->apart.first;
    output_begin(kept);
    put_byte(kept, '{');
    json_item_keep((JsonItem *)item, NULL); /* that of another model */
    PyObject *values = read_parts(reading, &self->fields, &at, ((JsonItem *)item)->end, &found);
    if (values != NULL && self->fields.keeps && kept->length <= LONGEST_KEPT) {
        put_byte(kept, '}');
        PyObject *text = kept_text(self, kept);
        json_item_keep((JsonItem *)item, text); /* functions were called, which may have decoded the item too */
        if (text == NULL) {
            Py_CLEAR(values);
        }
    }
    output_end(kept);
    if (values == NULL) {
        if (PyErr_Occurred()) {
            return NULL;
        }
        Py_RETURN_NONE;
    }
    reading->marked += found.marks == 1;
    return values;
}

static PyObject *
decode_item_whole(Reading *reading, PyObject *item)
{
    return decode_item(reading, item, NULL);
}

/* Return the values of an item and what is given apart; otherwise as `decode_item`. */
static PyObject *
decode_item_apart(Reading *reading, PyObject *item)
{
    PyObject *apart = PyDict_New();
    PyObject *values = apart == NULL ? NULL : decode_item(reading, item, apart);
    if (values == NULL || values == Py_None) {
        Py_XDECREF(apart);
        return values;
    }
    return Py_BuildValue("NN", values, apart);
}

/* Return what a function makes of each item. */
static PyObject *
decode_page(Reading *reading, PyObject *items, PyObject *(*decode)(Reading *, PyObject *))
{
    if (!PyList_Check(items) && !PyTuple_Check(items)) {
        PyErr_SetString(PyExc_TypeError, "a list or tuple of items expected");
        return NULL;
    }
    PyObject *item, *page = PyList_New(0);
    for (Py_ssize_t i = 0; page != NULL && (item = element_at(items, i)) != NULL; i++) {
        PyObject *values = decode(reading, item);
        Py_DECREF(item);
        if (values == NULL || PyList_Append(page, values) < 0) {
            Py_CLEAR(page);
        }
        Py_XDECREF(values);
    }
    return page;
}

static PyObject *
decoder_decode(ItemDecoder *self, PyObject *items)
{
    Reading reading = {self, 0, 0};
    PyObject *page = decode_page(&reading, items, decode_item_whole);
    return page == NULL ? NULL : Py_BuildValue("Nnn", page, reading.unknown, reading.marked);
}

static PyObject *
decoder_decode_apart(ItemDecoder *self, PyObject *items)
{
    Reading reading = {self, 0, 0};
    PyObject *page = decode_page(&reading, items, decode_item_apart);
    return page == NULL ? NULL : Py_BuildValue("Nn", page, reading.unknown);
}

static PyObject *
decoder_put_plain(ItemDecoder *self, PyObject *const *args, Py_ssize_t number)
{
    if (number != 2 || !PyDict_CheckExact(args[0]) || !PyDict_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, "two dicts expected");
        return NULL;
    }
    Py_ssize_t put = put_parts(self, &self->apart, args[0], args[1]);
    if (put >= 0 && add_absent(&self->apart, args[1]) < 0) {
        put = -1;
    }
    return put < 0 && PyErr_Occurred() ? NULL : PyBool_FromLong(put == PyDict_GET_SIZE(args[0]));
}

static PyMethodDef decoder_methods[] = {
    {"decode_apart", (PyCFunction)decoder_decode_apart, METH_O,
     "Return of each item name -> value, and stored name -> plain value of what is given apart, or None where the item "
     "is left to others; and how many members of nested values were left out."},
    {"put_plain", (PyCFunction)(void (*)(void))decoder_put_plain, METH_FASTCALL,
     "Put what is made of plain values among other values; return False where that is left to others."},
    {"decode", (PyCFunction)decoder_decode, METH_O,
     "Return of each item name -> value, or None where the item is left to others; how many members of nested values "
     "were left out; and how many items have the mark."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot decoder_slots[] = {
    {Py_tp_doc, "Decodes the items of one model from JSON to what Pydantic validates."},
    {Py_tp_new, decoder_new},
    {Py_tp_dealloc, decoder_dealloc},
    {Py_tp_traverse, decoder_traverse},
    {Py_tp_clear, decoder_clear},
    {Py_tp_methods, decoder_methods},
    {0, NULL},
};

PyType_Spec item_decoder_spec = {
    .name = "dynamap_async.native._codec.ItemDecoder",
    .basicsize = sizeof(ItemDecoder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = decoder_slots,
};
