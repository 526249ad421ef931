#include "json.h"

#include <stdint.h>

#define EIGHT(byte) (0x0101010101010101ULL * (byte))

/* Return whether one of eight bytes is a quote, a backslash, a control character, or no ASCII. */
static inline int
has_special(uint64_t bytes)
{
    uint64_t quotes = bytes ^ EIGHT('"'), slashes = bytes ^ EIGHT('\\');
    uint64_t found = (quotes - EIGHT(1)) & ~quotes;
    found |= (slashes - EIGHT(1)) & ~slashes;
    found |= (bytes - EIGHT(0x20)) | bytes;
    return (found & EIGHT(0x80)) != 0;
}

static inline int
is_special(unsigned char byte)
{
    return byte < 0x20 || byte >= 0x80 || byte == '"' || byte == '\\';
}

static inline Text
special(Text at, Text end)
{
    uint64_t bytes;
    while (end - at >= 8) {
        memcpy(&bytes, at, 8);
        if (has_special(bytes)) {
            break;
        }
        at += 8;
    }
    while (!is_special((unsigned char)*at)) {
        at++;
    }
    return at;
}

static int
hex_digit(char character)
{
    if (character >= '0' && character <= '9') {
        return character - '0';
    }
    character |= 0x20;
    return character >= 'a' && character <= 'f' ? character - 'a' + 10 : -1;
}

/* Return the number that four hexadecimal digits stand for; -1 where they are none. */
static int
hex_four(Text at)
{
    int value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0) {
            return -1;
        }
        value = value << 4 | digit;
    }
    return value;
}

/* Return the place after an escape sequence, given that after its backslash; NULL where it is none. */
static Text
skip_escape(Text at)
{
    if (*at != 'u') {
        return *at && strchr("\"\\/bfnrt", *at) ? at + 1 : NULL;
    }
    int unit = hex_four(at + 1);
    if (unit < 0 || (unit >= 0xDC00 && unit <= 0xDFFF)) {
        return NULL;
    }
    at += 5;
    if (unit < 0xD800 || unit > 0xDBFF) {
        return at;
    }
    if (at[0] != '\\' || at[1] != 'u') {
        return NULL;
    }
    unit = hex_four(at + 2);
    return unit >= 0xDC00 && unit <= 0xDFFF ? at + 6 : NULL;
}

/* Return the place after a character of two to four bytes; NULL where it is no UTF-8. */
static Text
skip_wide(Text at)
{
    unsigned char first = (unsigned char)at[0], second = (unsigned char)at[1];
    unsigned char low = 0x80, high = 0xBF; /* the range of the second byte: nothing overlong, no surrogates */
    int more;
    if (first >= 0xC2 && first <= 0xDF) {
        more = 1;
    }
    else if (first >= 0xE0 && first <= 0xEF) {
        more = 2;
        low = first == 0xE0 ? 0xA0 : low;
        high = first == 0xED ? 0x9F : high;
    }
    else if (first >= 0xF0 && first <= 0xF4) {
        more = 3;
        low = first == 0xF0 ? 0x90 : low;
        high = first == 0xF4 ? 0x8F : high;
    }
    else {
        return NULL;
    }
    if (second < low || second > high) {
        return NULL;
    }
    for (int i = 2; i <= more; i++) {
        if (((unsigned char)at[i] & 0xC0) != 0x80) {
            return NULL;
        }
    }
    return at + more + 1;
}

Text
text_end(Text at, Text end, int *holds, int checked)
{
    *holds = PLAIN;
    for (;;) {
        at = special(at, end);
        unsigned char byte = (unsigned char)*at;
        if (byte == '"') {
            return at;
        }
        if (byte == '\\') {
            *holds |= ESCAPES;
            at = checked ? at + 2 : skip_escape(at + 1);
        }
        else if (byte >= 0x80) {
            *holds |= WIDE;
            at = checked ? at + 1 : skip_wide(at);
        }
        else {
            return NULL; /* a control character, or the end */
        }
        if (at == NULL) {
            return NULL;
        }
    }
}

static Text
skip_word(Text at, Text word)
{
    size_t length = strlen(word);
    return strncmp(at, word, length) == 0 ? at + length : NULL;
}

static inline Text
skip_digits(Text at)
{
    while (*at >= '0' && *at <= '9') {
        at++;
    }
    return at;
}

/* Return the place after a number, and whether it is a whole one; NULL where it is none. */
static Text
skip_number(Text at, int *whole)
{
    Text digits = at + (*at == '-');
    at = *digits == '0' ? digits + 1 : skip_digits(digits);
    *whole = 1;
    if (at == digits) {
        return NULL;
    }
    if (*at == '.') {
        digits = at + 1;
        at = skip_digits(digits);
        *whole = 0;
    }
    if (at > digits && (*at == 'e' || *at == 'E')) {
        digits = at + 1 + (at[1] == '+' || at[1] == '-');
        at = skip_digits(digits);
        *whole = 0;
    }
    return at > digits ? at : NULL;
}

Text
skip_value(Text at, Text end, int depth, int numbers)
{
    char open = *at, close;
    int holds, whole;
    switch (open) {
    case '"':
        at = text_end(at + 1, end, &holds, 0);
        return at == NULL ? NULL : at + 1;
    case 't':
        return skip_word(at, "true");
    case 'f':
        return skip_word(at, "false");
    case 'n':
        return skip_word(at, "null");
    case '{':
        close = '}';
        break;
    case '[':
        close = ']';
        break;
    default:
        return numbers ? skip_number(at, &whole) : NULL;
    }
    if (depth >= DEEPEST) {
        return NULL;
    }
    at = skip_space(at + 1);
    if (*at == close) {
        return at + 1;
    }
    for (;;) {
        if (open == '{') {
            if (*at != '"' || (at = text_end(at + 1, end, &holds, 0)) == NULL) {
                return NULL;
            }
            at = skip_space(at + 1);
            if (*at != ':') {
                return NULL;
            }
            at = skip_space(at + 1);
        }
        at = skip_value(at, end, depth + 1, numbers);
        if (at == NULL) {
            return NULL;
        }
        at = skip_space(at);
        if (*at == close) {
            return at + 1;
        }
        if (*at != ',') {
            return NULL;
        }
        at = skip_space(at + 1);
    }
}

Text
skip_checked(Text at, Text end)
{
    int holds, open = 0;
    for (;;) {
        switch (*at) {
        case '"':
            at = text_end(at + 1, end, &holds, 1);
            break;
        case '{':
        case '[':
            open++;
            break;
        case '}':
        case ']':
            open--;
            break;
        case 't':
        case 'n':
            at += 3;
            break;
        case 'f':
            at += 4;
            break;
        default: /* a comma, a colon, or space */
            break;
        }
        at++;
        if (open == 0) {
            return at;
        }
    }
}

/* Write a character as UTF-8, and return the place after it. */
static char *
put_character(char *to, Py_UCS4 character)
{
    if (character < 0x80) {
        *to++ = (char)character;
        return to;
    }
    if (character < 0x800) {
        *to++ = (char)(0xC0 | character >> 6);
    }
    else {
        if (character < 0x10000) {
            *to++ = (char)(0xE0 | character >> 12);
        }
        else {
            *to++ = (char)(0xF0 | character >> 18);
            *to++ = (char)(0x80 | (character >> 12 & 0x3F));
        }
        *to++ = (char)(0x80 | (character >> 6 & 0x3F));
    }
    *to++ = (char)(0x80 | (character & 0x3F));
    return to;
}

/* Write what an escape sequence stands for, and return the place after the sequence; both places are moved. */
static char *
put_escaped(char *to, Text *at)
{
    static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
    char letter = *(*at)++;
    if (letter == 'u') {
        Py_UCS4 character = (Py_UCS4)hex_four(*at);
        *at += 4;
        if (character >= 0xD800 && character <= 0xDBFF) {
            character = 0x10000 + ((character - 0xD800) << 10) + ((Py_UCS4)hex_four(*at + 2) - 0xDC00);
            *at += 6;
        }
        return put_character(to, character);
    }
    Text found = strchr(letters, letter);
    *to++ = found == NULL ? letter : meant[found - letters];
    return to;
}

PyObject *
make_text(Text begin, Text close, int holds)
{
    Py_ssize_t length = close - begin;
    if (holds == PLAIN && length == 1) { /* a type, such as S: Python has each such text once */
        return PyUnicode_FromKindAndData(PyUnicode_1BYTE_KIND, begin, 1);
    }
    if (holds == PLAIN) {
        PyObject *made = PyUnicode_New(length, 127);
        if (made != NULL) {
            memcpy(PyUnicode_DATA(made), begin, (size_t)length);
        }
        return made;
    }
    if (holds == WIDE) {
        return PyUnicode_DecodeUTF8(begin, length, NULL);
    }
    char *buffer = PyMem_Malloc((size_t)length); /* no escape sequence is shorter than what it stands for */
    if (buffer == NULL) {
        return PyErr_NoMemory();
    }
    char *to = buffer;
    for (Text at = begin; at < close;) {
        if (*at == '\\') {
            at++;
            to = put_escaped(to, &at);
        }
        else {
            *to++ = *at++;
        }
    }
    PyObject *made = PyUnicode_DecodeUTF8(buffer, to - buffer, NULL);
    PyMem_Free(buffer);
    return made;
}

static PyObject *
make_object(Text *at, Text end)
{
    PyObject *made = PyDict_New();
    Text here;
    while (made != NULL && (here = next_part(at, '}')) != NULL) {
        int holds;
        Text close = text_end(here + 1, end, &holds, 1);
        PyObject *name = make_text(here + 1, close, holds);
        *at = after_name(close);
        PyObject *value = name == NULL ? NULL : make_value(at, end);
        if (value == NULL || PyDict_SetItem(made, name, value) < 0) {
            Py_CLEAR(made);
        }
        Py_XDECREF(name);
        Py_XDECREF(value);
    }
    return made;
}

static PyObject *
make_array(Text *at, Text end)
{
    PyObject *made = PyList_New(0);
    Text here;
    while (made != NULL && (here = next_part(at, ']')) != NULL) {
        *at = here;
        PyObject *value = make_value(at, end);
        if (value == NULL || PyList_Append(made, value) < 0) {
            Py_CLEAR(made);
        }
        Py_XDECREF(value);
    }
    return made;
}

static PyObject *
make_whole(Text begin, Text end)
{
    Text at = begin + (*begin == '-');
    if (end - at > 18) { /* it may not fit into 64 bits */
        PyObject *digits = PyUnicode_FromStringAndSize(begin, end - begin);
        PyObject *made = digits == NULL ? NULL : PyLong_FromUnicodeObject(digits, 10);
        Py_XDECREF(digits);
        return made;
    }
    long long number = 0;
    while (at < end) {
        number = 10 * number + (*at++ - '0');
    }
    return PyLong_FromLongLong(*begin == '-' ? -number : number);
}

static PyObject *
make_number(Text *at)
{
    int whole;
    char *end; /* where Python stops too, and has to be asked for it */
    Text begin = *at;
    *at = skip_number(begin, &whole);
    if (whole) {
        return make_whole(begin, *at);
    }
    double number = PyOS_string_to_double(begin, &end, NULL);
    return number == -1.0 && PyErr_Occurred() ? NULL : PyFloat_FromDouble(number);
}

PyObject *
make_value(Text *at, Text end)
{
    Text here = *at;
    switch (*here) {
    case '"': {
        int holds;
        Text close = text_end(here + 1, end, &holds, 1);
        *at = close + 1;
        return make_text(here + 1, close, holds);
    }
    case '{':
        return make_object(at, end);
    case '[':
        return make_array(at, end);
    case 't':
        *at = here + 4;
        Py_RETURN_TRUE;
    case 'f':
        *at = here + 5;
        Py_RETURN_FALSE;
    case 'n':
        *at = here + 4;
        Py_RETURN_NONE;
    default:
        return make_number(at);
    }
}
