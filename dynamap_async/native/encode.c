/* ItemEncoder: the items of one model, from the values of their fields to JSON, in one pass that counts their size.

   It is made of types, and writes what the converters in Python give. What is not usual is given to its converter, and
   what that gives is written. Where that raises, a value is missing, or
   DynamoDB would not take the item, the whole item is left to the converters: None is given in its place. So no error
   is judged here, and what is judged here is what is usual. */

#include "output.h"
#include "owned.h"
#include "parts.h"
#include "type.h"

#include <datetime.h>

/* How many bytes the value of any part of a key may have. */
#define SHORT_KEY 1024

/* It never changes, and needs no lock. */
typedef struct {
    PyObject_HEAD
    State *state;
    Type item;               /* `fields` */
    PyObject *before;        /* the JSON that every item begins with, from its brace on */
    Py_ssize_t before_size;
    PyObject *before_kept;   /* the attributes in it, in wire form */
    Py_ssize_t most_size;
    Py_ssize_t most_levels;
    Py_ssize_t longest_name;
} ItemEncoder;

/* An item that is being written. */
typedef struct {
    ItemEncoder *of;
    Output to;
    Py_ssize_t levels; /* how many values may stand inside each other here */
} Item;

/* What writers return. UNUSUAL: the converter has to be asked; what was written is taken back. LEFT: the whole item is
   left to others, or there is an error if one is set. ABSENT: there is no such attribute. */
typedef enum { WRITTEN, UNUSUAL, LEFT, ABSENT } Outcome;

#define DONE(failed) ((failed) < 0 ? LEFT : WRITTEN)

/* Return LEFT, and forget an error that the converters in Python raise again. */
static Outcome
left(void)
{
    if (PyErr_ExceptionMatches(PyExc_Exception) && !PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyErr_Clear();
    }
    return LEFT;
}

/* ---- what converters give ---- */

/* Write a text as UTF-8 between quotes. */
static Outcome
write_utf8(Item *item, PyObject *text)
{
    Py_ssize_t length;
    Text utf8 = PyUnicode_AsUTF8AndSize(text, &length);
    return utf8 == NULL ? left() : DONE(write_quoted(&item->to, utf8, length));
}

/* Write what stands after S, N or B, or a member of a set of these. */
static Outcome
write_content(Item *item, char tag, PyObject *content)
{
    Py_ssize_t length;
    Text text = PyUnicode_Check(content) ? PyUnicode_AsUTF8AndSize(content, &length) : NULL;
    if (text == NULL) {
        return PyErr_Occurred() ? left() : LEFT;
    }
    if (tag == 'S') {
        return DONE(write_quoted(&item->to, text, length));
    }
    if (tag == 'N') {
        return strspn(text, "-.0123456789") == (size_t)length ? DONE(write_number(&item->to, text, length)) : LEFT;
    }
    Py_ssize_t size = item->to.size + length / 4 * 3;
    for (Py_ssize_t i = length > 2 ? length - 2 : 0; i < length; i++) {
        size -= text[i] == '=';
    }
    int failed = write_quoted(&item->to, text, length);
    item->to.size = size;
    return DONE(failed);
}

static Outcome write_stored(Item *item, PyObject *stored);

/* Write the name of a member of a map, with what comes before and after it. */
static Outcome
write_name(Item *item, PyObject *name)
{
    Output *to = &item->to;
    Py_ssize_t before = to->size;
    if ((to->text[to->length - 1] != '{' && WRITE(to, ",") < 0) || write_utf8(item, name) != WRITTEN) {
        return LEFT;
    }
    return to->size - before > item->of->longest_name ? LEFT : DONE(WRITE(to, ":"));
}

static Outcome
write_stored_members(Item *item, PyObject *members)
{
    PyObject *name, *stored;
    Py_ssize_t at = 0;
    Outcome outcome = WRITTEN;
    item->to.size += 3;
    while (outcome == WRITTEN && next_member(members, &at, &name, &stored)) {
        item->to.size++;
        outcome = PyUnicode_Check(name) ? write_name(item, name) : LEFT;
        outcome = outcome == WRITTEN ? write_stored(item, stored) : LEFT;
        Py_DECREF(name);
        Py_DECREF(stored);
    }
    return outcome;
}

/* Write the elements of a list, or the members of a set. */
static Outcome
write_stored_elements(Item *item, const char *tag, PyObject *elements)
{
    PyObject *element;
    Outcome outcome = WRITTEN;
    for (Py_ssize_t i = 0; outcome == WRITTEN && (element = element_at(elements, i)) != NULL; i++) {
        item->to.size += *tag == 'L';
        outcome = i > 0 ? DONE(WRITE(&item->to, ",")) : WRITTEN;
        if (outcome == WRITTEN) {
            outcome = *tag == 'L' ? write_stored(item, element) : write_content(item, *tag, element);
        }
        Py_DECREF(element);
    }
    return outcome;
}

/* Write a tag, and what stands after it. */
static Outcome
write_tagged(Item *item, Text tag, Py_ssize_t length, PyObject *content)
{
    Output *to = &item->to;
    if (WRITE(to, "{\"") < 0 || write_bytes(to, tag, length) < 0 || WRITE(to, "\":") < 0) {
        return LEFT;
    }
    Outcome outcome = LEFT;
    item->levels--;
    if (strcmp(tag, "S") == 0 || strcmp(tag, "N") == 0 || strcmp(tag, "B") == 0) {
        outcome = write_content(item, *tag, content);
    }
    else if ((strcmp(tag, "BOOL") == 0 || strcmp(tag, "NULL") == 0) && PyBool_Check(content)) {
        to->size++;
        outcome = DONE(content == Py_True ? WRITE(to, "true") : WRITE(to, "false"));
    }
    else if (strcmp(tag, "M") == 0 && PyDict_Check(content)) {
        outcome = DONE(WRITE(to, "{"));
        outcome = outcome == WRITTEN ? write_stored_members(item, content) : outcome;
        outcome = outcome == WRITTEN ? DONE(WRITE(to, "}")) : outcome;
    }
    else if (PyList_Check(content) && (strcmp(tag, "L") == 0 || strcmp(tag, "SS") == 0 || strcmp(tag, "NS") == 0 ||
                                       strcmp(tag, "BS") == 0)) {
        to->size += *tag == 'L' ? 3 : 0;
        outcome = DONE(WRITE(to, "["));
        outcome = outcome == WRITTEN ? write_stored_elements(item, tag, content) : outcome;
        outcome = outcome == WRITTEN ? DONE(WRITE(to, "]")) : outcome;
    }
    item->levels++;
    return outcome == WRITTEN ? DONE(WRITE(to, "}")) : LEFT;
}

/* Write an attribute value that a converter gave. */
static Outcome
write_stored(Item *item, PyObject *stored)
{
    PyObject *key, *content;
    Py_ssize_t at = 0, length;
    if (item->levels == 0 || !PyDict_Check(stored) || PyDict_GET_SIZE(stored) != 1 ||
        !next_member(stored, &at, &key, &content)) {
        return LEFT;
    }
    Text tag = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, &length) : NULL;
    Outcome outcome = tag != NULL ? write_tagged(item, tag, length, content) : PyErr_Occurred() ? left() : LEFT;
    Py_DECREF(key);
    Py_DECREF(content);
    return outcome;
}

/* Write what a converter gives for a value. */
static Outcome
write_through(Item *item, PyObject *encode, PyObject *value)
{
    PyObject *stored = PyObject_CallOneArg(encode, value);
    if (stored == NULL) {
        return left();
    }
    Outcome outcome = stored == Py_None ? ABSENT : write_stored(item, stored);
    Py_DECREF(stored);
    return outcome;
}

/* ---- values without parts ---- */

static Outcome
write_text(Item *item, Type *type, PyObject *value)
{
    if (type->among != NULL) {
        int known = PySet_Contains(type->among, value);
        if (known != 1) {
            return known < 0 ? left() : UNUSUAL;
        }
    }
    if (WRITE(&item->to, "{\"S\":") < 0 || write_utf8(item, value) != WRITTEN) {
        return LEFT;
    }
    return DONE(WRITE(&item->to, "}"));
}

/* Write an ASCII text that needs no escape sequences. */
static Outcome
write_made_text(Item *item, const char *text, Py_ssize_t length)
{
    Output *to = &item->to;
    to->size += length;
    if (WRITE(to, "{\"S\":\"") < 0 || write_bytes(to, text, length) < 0) {
        return LEFT;
    }
    return DONE(WRITE(to, "\"}"));
}

static Outcome
write_integer(Item *item, Type *Py_UNUSED(type), PyObject *value)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow) {
        return UNUSUAL;
    }
    char text[24], *at = text;
    unsigned long long digits = (unsigned long long)number;
    if (number < 0) {
        *at++ = '-';
        digits = 0 - digits;
    }
    at = put_digits(at, digits, 1);
    if (WRITE(&item->to, "{\"N\":") < 0 || write_number(&item->to, text, at - text) < 0) {
        return LEFT;
    }
    return DONE(WRITE(&item->to, "}"));
}

/* Write a float within the limits between which its shortest text has no exponent. */
static Outcome
write_floating(Item *item, Type *Py_UNUSED(type), PyObject *value)
{
    double number = PyFloat_AS_DOUBLE(value);
    if (!EXACT_FLOATS || !((number > 1e-4 && number < 1e15) || (number > -1e15 && number < -1e-4) || number == 0)) {
        return UNUSUAL;
    }
    if (WRITE(&item->to, "{\"N\":") < 0 || write_float(&item->to, number) < 0) {
        return LEFT;
    }
    return DONE(WRITE(&item->to, "}"));
}

/* Write a Decimal that is inside of all limits: of up to 38 characters, and without an exponent. */
static Outcome
write_decimal(Item *item, Type *Py_UNUSED(type), PyObject *value)
{
    PyObject *made = PyObject_Str(value);
    Py_ssize_t length = 0;
    Text text = made == NULL ? NULL : PyUnicode_AsUTF8AndSize(made, &length);
    if (text == NULL) {
        Py_XDECREF(made);
        return left();
    }
    Outcome outcome = UNUSUAL;
    if ((length = usual_decimal(&text, length)) > 0) {
        int failed = WRITE(&item->to, "{\"N\":") < 0 || write_number(&item->to, text, length) < 0 ||
                     WRITE(&item->to, "}") < 0;
        outcome = failed ? LEFT : WRITTEN;
    }
    Py_DECREF(made);
    return outcome;
}

static Outcome
write_boolean(Item *item, Type *Py_UNUSED(type), PyObject *value)
{
    item->to.size++;
    return DONE(value == Py_True ? WRITE(&item->to, "{\"BOOL\":true}") : WRITE(&item->to, "{\"BOOL\":false}"));
}

static Outcome
write_null(Item *item)
{
    item->to.size++;
    return DONE(WRITE(&item->to, "{\"NULL\":true}"));
}

static Outcome
write_binary(Item *item, Type *Py_UNUSED(type), PyObject *value)
{
    const unsigned char *bytes = (const unsigned char *)PyBytes_AS_STRING(value);
    if (WRITE(&item->to, "{\"B\":") < 0 || write_base64(&item->to, bytes, PyBytes_GET_SIZE(value)) < 0) {
        return LEFT;
    }
    return DONE(WRITE(&item->to, "}"));
}

static char *
put_date(char *at, PyObject *value)
{
    at = put_digits(at, (unsigned long long)PyDateTime_GET_YEAR(value), 4);
    *at++ = '-';
    at = put_digits(at, (unsigned long long)PyDateTime_GET_MONTH(value), 2);
    *at++ = '-';
    return put_digits(at, (unsigned long long)PyDateTime_GET_DAY(value), 2);
}

static Outcome
write_date(Item *item, Type *Py_UNUSED(type), PyObject *value)
{
    char text[16];
    return write_made_text(item, text, put_date(text, value) - text);
}

/* Return whether a datetime is in UTC; what Pydantic reads has a time zone of its own for that. */
static int
is_utc(State *state, PyObject *value)
{
    PyObject *zone = PyDateTime_DATE_GET_TZINFO(value); /* which never changes */
    if (zone == state->utc || zone == Py_None) {
        return zone != Py_None;
    }
    PyObject *offset = PyObject_CallMethodNoArgs(value, state->utcoffset);
    int zero = offset != NULL && PyObject_TypeCheck(offset, state->timedelta) && PyDateTime_DELTA_GET_DAYS(offset) == 0 &&
               PyDateTime_DELTA_GET_SECONDS(offset) == 0 && PyDateTime_DELTA_GET_MICROSECONDS(offset) == 0;
    Py_XDECREF(offset);
    return zero;
}

static Outcome
write_instant(Item *item, Type *Py_UNUSED(type), PyObject *value)
{
    char text[32], *at = put_date(text, value);
    if (!is_utc(item->of->state, value)) {
        return PyErr_Occurred() ? left() : UNUSUAL;
    }
    *at++ = 'T';
    at = put_digits(at, (unsigned long long)PyDateTime_DATE_GET_HOUR(value), 2);
    *at++ = ':';
    at = put_digits(at, (unsigned long long)PyDateTime_DATE_GET_MINUTE(value), 2);
    *at++ = ':';
    at = put_digits(at, (unsigned long long)PyDateTime_DATE_GET_SECOND(value), 2);
    *at++ = '.';
    at = put_digits(at, (unsigned long long)PyDateTime_DATE_GET_MICROSECOND(value), 6);
    *at++ = 'Z';
    return write_made_text(item, text, at - text);
}

static Outcome
write_uuid(Item *item, Type *Py_UNUSED(type), PyObject *value)
{
    PyObject *number = PyObject_GetAttr(value, item->of->state->integer);
    PyObject *made = number == NULL ? NULL : PyNumber_ToBase(number, 16);
    Py_ssize_t length = 0;
    Text digits = made == NULL ? NULL : PyUnicode_AsUTF8AndSize(made, &length);
    Outcome outcome = UNUSUAL;
    if (digits == NULL) {
        outcome = left();
    }
    else if (digits[0] == '0' && length <= 34) { /* 0x, and 32 digits at most */
        char text[36];
        for (int i = 35, from = (int)length - 1; i >= 0; i--) {
            int hyphen = i == 8 || i == 13 || i == 18 || i == 23;
            text[i] = hyphen ? '-' : from >= 2 ? digits[from--] : '0';
        }
        outcome = write_made_text(item, text, 36);
    }
    Py_XDECREF(number);
    Py_XDECREF(made);
    return outcome;
}

/* ---- values with parts ---- */

static Outcome write_value(Item *item, Type *type, PyObject *value);
static Outcome write_parts(Item *item, Type *type, PyObject *values, Py_ssize_t each, PyObject *kept);

/* Write a set of text, sorted. */
static Outcome
write_texts(Item *item, Type *Py_UNUSED(type), PyObject *value)
{
    PyObject *texts = PySequence_List(value);
    if (texts == NULL) {
        return left();
    }
    Outcome outcome = PyList_GET_SIZE(texts) == 0 ? UNUSUAL : WRITTEN;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(texts); i++) {
        outcome = PyUnicode_CheckExact(PyList_GET_ITEM(texts, i)) ? outcome : UNUSUAL;
    }
    if (outcome == WRITTEN && (PyList_Sort(texts) < 0 || WRITE(&item->to, "{\"SS\":[") < 0)) {
        outcome = left();
    }
    outcome = outcome == WRITTEN ? write_stored_elements(item, "SS", texts) : outcome;
    Py_DECREF(texts);
    return outcome == WRITTEN ? DONE(WRITE(&item->to, "]}")) : outcome;
}

/* Write a list or tuple. */
static Outcome
write_elements(Item *item, Type *member, PyObject *value)
{
    Output *to = &item->to;
    PyObject *element;
    Outcome outcome = DONE(WRITE(to, "{\"L\":["));
    to->size += 3;
    item->levels--;
    for (Py_ssize_t i = 0; outcome == WRITTEN && (element = element_at(value, i)) != NULL; i++) {
        to->size++;
        outcome = i > 0 ? DONE(WRITE(to, ",")) : WRITTEN;
        outcome = outcome == WRITTEN ? write_value(item, member, element) : outcome;
        Py_DECREF(element);
    }
    item->levels++;
    return outcome == WRITTEN ? DONE(WRITE(to, "]}")) : LEFT;
}

static Outcome
write_members(Item *item, Type *member, PyObject *value)
{
    Output *to = &item->to;
    PyObject *name, *each;
    Py_ssize_t at = 0;
    Outcome outcome = DONE(WRITE(to, "{\"M\":{"));
    to->size += 3;
    item->levels--;
    while (outcome == WRITTEN && next_member(value, &at, &name, &each)) {
        to->size++;
        outcome = PyUnicode_CheckExact(name) ? write_name(item, name) : UNUSUAL;
        if (outcome == WRITTEN && write_value(item, member, each) != WRITTEN) {
            outcome = LEFT;
        }
        Py_DECREF(name);
        Py_DECREF(each);
    }
    item->levels++;
    return outcome == WRITTEN ? DONE(WRITE(to, "}}")) : outcome;
}

/* Write an object by its `__dict__`. */
static Outcome
write_fields(Item *item, Type *type, PyObject *value)
{
    PyObject *values = PyObject_GenericGetDict(value, NULL);
    if (values == NULL) {
        return left();
    }
    Outcome outcome = PyDict_Check(values) ? DONE(WRITE(&item->to, "{\"M\":{")) : UNUSUAL;
    if (outcome == WRITTEN) {
        item->to.size += 3;
        item->levels--;
        outcome = write_parts(item, type, values, 1, NULL);
        item->levels++;
    }
    Py_DECREF(values);
    return outcome == WRITTEN ? DONE(WRITE(&item->to, "}}")) : outcome;
}

/* Take back what was written since. */
static void
take_back(Item *item, Py_ssize_t length, Py_ssize_t size)
{
    item->to.length = length;
    item->to.size = size;
}

static Outcome write_usual(Item *item, Type *type, PyObject *value);

static Outcome
write_either(Item *item, Type *type, PyObject *value)
{
    Py_ssize_t length = item->to.length, size = item->to.size;
    for (Py_ssize_t i = 0; i < type->inner_number; i++) {
        Outcome outcome = write_usual(item, &type->inner[i], value);
        if (outcome != UNUSUAL) {
            return outcome;
        }
        take_back(item, length, size);
    }
    return UNUSUAL;
}

static Outcome
write_enum(Item *item, Type *type, PyObject *member)
{
    PyObject *value = PyObject_GetAttr(member, item->of->state->value);
    if (value == NULL) {
        return left();
    }
    Outcome outcome = write_usual(item, type->inner, value);
    Py_DECREF(value);
    return outcome;
}

static Outcome
write_list(Item *item, Type *type, PyObject *value)
{
    return PyList_CheckExact(value) || PyTuple_CheckExact(value) ? write_elements(item, type->inner, value) : UNUSUAL;
}

static Outcome
write_map(Item *item, Type *type, PyObject *value)
{
    return write_members(item, type->inner, value);
}

static Outcome
write_optional(Item *item, Type *type, PyObject *value)
{
    return value == Py_None ? write_null(item) : write_usual(item, type->inner, value);
}

static Outcome
write_other(Item *Py_UNUSED(item), Type *Py_UNUSED(type), PyObject *Py_UNUSED(value))
{
    return UNUSUAL;
}

/* Write a value by its own type, one of those that JSON has, or a datetime in UTC. */
static Outcome
write_any(Item *item, Type *type, PyObject *value)
{
    if (PyUnicode_CheckExact(value)) {
        return write_text(item, type, value);
    }
    if (PyLong_CheckExact(value)) {
        return write_integer(item, type, value);
    }
    if (PyBool_Check(value)) {
        return write_boolean(item, type, value);
    }
    if (PyFloat_CheckExact(value)) {
        return write_floating(item, type, value);
    }
    if (value == Py_None) {
        return write_null(item);
    }
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value)) {
        return write_elements(item, type, value);
    }
    if (PyDict_CheckExact(value)) {
        return write_members(item, type, value);
    }
    return Py_IS_TYPE(value, item->of->state->datetime) ? write_instant(item, type, value) : UNUSUAL;
}

#define AS_WRITER(name, tag, reader) \
    case KIND_##name:                \
        return write_##name(item, type, value);

/* Write a usual value of a type. */
static Outcome
write_usual(Item *item, Type *type, PyObject *value)
{
    if (type->of != NULL && (PyObject *)Py_TYPE(value) != type->of) {
        return UNUSUAL;
    }
    switch (type->kind) {
        KINDS(AS_WRITER)
    }
    return UNUSUAL;
}

static Outcome
write_value(Item *item, Type *type, PyObject *value)
{
    Py_ssize_t length = item->to.length, size = item->to.size;
    if (item->levels == 0) {
        return LEFT;
    }
    Outcome outcome = write_usual(item, type, value);
    if (outcome != UNUSUAL) {
        return outcome;
    }
    take_back(item, length, size);
    return write_through(item, type->encode, value);
}

/* Return whether an attribute value, as it was written, may be part of a key: of these no others are kept. What is nearly
   too long is left to be measured. */
static int
fits_keys(Text text, Py_ssize_t length)
{
    Py_ssize_t content = length - (Py_ssize_t)strlen("{\"S\":\"\"}");
    return text[3] == '"' && (text[2] == 'N' || content > 0) && content <= SHORT_KEY && strchr("SNB", text[2]) != NULL;
}

/* Write a member of an object, if it has a value; keep it in wire form if it is asked for. */
static Outcome
write_part(Item *item, Part *part, PyObject *value, PyObject *kept)
{
    Output *to = &item->to;
    int none = value == Py_None && part->nullable;
    if (none && part->none == NULL) {
        return ABSENT;
    }
    if (part->length > item->of->longest_name) {
        return LEFT;
    }
    if ((to->text[to->length - 1] != '{' && WRITE(to, ",") < 0) ||
        write_bytes(to, PyBytes_AS_STRING(part->start), PyBytes_GET_SIZE(part->start)) < 0) {
        return LEFT;
    }
    to->size += part->length;
    Py_ssize_t begin = to->length;
    Outcome outcome = none ? write_stored(item, part->none) : write_value(item, &part->type, value);
    if (outcome != WRITTEN || !part->kept || kept == NULL) {
        return outcome;
    }
    Text at = to->text + begin;
    if (!fits_keys(at, to->length - begin)) {
        return LEFT;
    }
    PyObject *stored = make_value(&at, to->text + to->length);
    outcome = stored == NULL || PyDict_SetItem(kept, part->stored, stored) < 0 ? LEFT : WRITTEN;
    Py_XDECREF(stored);
    return outcome;
}

/* Write the members of an object, each of which counts so many bytes more than its name and its value. */
static Outcome
write_parts(Item *item, Type *type, PyObject *values, Py_ssize_t each, PyObject *kept)
{
    for (Py_ssize_t i = 0; i < type->parts_number; i++) {
        Part *part = &type->parts[i];
        Py_ssize_t length = item->to.length, size = item->to.size;
        PyObject *value;
        int found = find_value(values, part->name, &value);
        if (found <= 0) {
            return found < 0 ? left() : LEFT;
        }
        Outcome outcome = write_part(item, part, value, kept);
        Py_DECREF(value);
        if (outcome == ABSENT) {
            take_back(item, length, size);
        }
        else if (outcome != WRITTEN) {
            return LEFT;
        }
        else {
            item->to.size += each;
        }
    }
    return WRITTEN;
}

/* ---- the type ---- */

static PyObject *
encoder_new(PyTypeObject *python_type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    PyObject *type, *before, *kept;
    Py_ssize_t before_size, most_size, most_levels, longest_name;
    if (!PyArg_ParseTuple(args, "O(SnO!)(nnn):ItemEncoder", &type, &before, &before_size, &PyDict_Type, &kept,
                          &most_size, &most_levels, &longest_name)) {
        return NULL;
    }
    ItemEncoder *self = (ItemEncoder *)python_type->tp_alloc(python_type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->state = state_of(python_type);
    self->before = Py_NewRef(before);
    self->before_kept = Py_NewRef(kept);
    self->before_size = before_size;
    self->most_size = most_size;
    self->most_levels = most_levels;
    self->longest_name = longest_name;
    if (make_type(&self->item, type) < 0) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static int
encoder_traverse(ItemEncoder *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->before_kept);
    return visit_type(&self->item, visit, arg);
}

static int
encoder_clear(ItemEncoder *self)
{
    Py_CLEAR(self->before_kept);
    free_type(&self->item);
    return 0;
}

static void
encoder_dealloc(ItemEncoder *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    encoder_clear(self);
    Py_XDECREF(self->before);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

/* Write an item; return its JSON, NULL where it is left to others or an error is set. */
static PyObject *
write_item(Item *item, PyObject *values, PyObject *kept)
{
    ItemEncoder *self = item->of;
    Output *to = &item->to;
    if (write_bytes(to, PyBytes_AS_STRING(self->before), PyBytes_GET_SIZE(self->before)) < 0) {
        return NULL;
    }
    to->size = self->before_size;
    if (write_parts(item, &self->item, values, 0, kept) != WRITTEN || WRITE(to, "}") < 0) {
        return NULL;
    }
    return to->size > self->most_size ? NULL : PyBytes_FromStringAndSize(to->text, to->length);
}

static PyObject *
encoder_encode(ItemEncoder *self, PyObject *values)
{
    if (!PyDict_Check(values)) {
        PyErr_SetString(PyExc_TypeError, "a dict of values expected");
        return NULL;
    }
    PyObject *kept = PyDict_Copy(self->before_kept);
    if (kept == NULL) {
        return NULL;
    }
    Item item;
    item.of = self;
    item.levels = self->most_levels;
    output_begin(&item.to);
    PyObject *json = write_item(&item, values, kept);
    output_end(&item.to);
    if (json == NULL) {
        Py_DECREF(kept);
        if (PyErr_Occurred()) {
            return NULL;
        }
        Py_RETURN_NONE;
    }
    return Py_BuildValue("NNn", kept, json, item.to.size);
}

static PyMethodDef encoder_methods[] = {
    {"encode", (PyCFunction)encoder_encode, METH_O,
     "Return the attributes that are kept, the JSON and the size of an item; None where it is left to others."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot encoder_slots[] = {
    {Py_tp_doc, "Encodes the items of one model to JSON."},
    {Py_tp_new, encoder_new},
    {Py_tp_dealloc, encoder_dealloc},
    {Py_tp_traverse, encoder_traverse},
    {Py_tp_clear, encoder_clear},
    {Py_tp_methods, encoder_methods},
    {0, NULL},
};

PyType_Spec item_encoder_spec = {
    .name = "dynamap_async.native._codec.ItemEncoder",
    .basicsize = sizeof(ItemEncoder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = encoder_slots,
};
