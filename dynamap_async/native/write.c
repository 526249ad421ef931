/* The JSON of values as JSON has them: of the bodies of requests, and of items in wire form. */

#include "output.h"
#include "owned.h"
#include "parts.h"

#include <math.h>

/* How many arrays and objects may stand inside each other; Pydantic's writer takes as many. */
#define DEEPEST_WRITTEN 254

static int
write_plain_text(Output *to, PyObject *value)
{
    Py_ssize_t length;
    Text text = PyUnicode_AsUTF8AndSize(value, &length);
    if (text == NULL && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
        PyErr_SetString(PyExc_TypeError, "the text is no UTF-8: surrogates not allowed");
    }
    return text == NULL ? -1 : write_quoted(to, text, length);
}

static int
write_name(Output *to, PyObject *name)
{
    if (!PyUnicode_Check(name)) {
        PyErr_SetString(PyExc_TypeError, "a name that is no text");
        return -1;
    }
    return write_plain_text(to, name);
}

static int
write_whole(Output *to, PyObject *value)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0) {
        PyErr_SetString(PyExc_TypeError, "a whole number of more than 64 bits");
        return -1;
    }
    if ((number == -1 && PyErr_Occurred()) || reserve(to, 20) < 0) {
        return -1;
    }
    if (number < 0) {
        put_byte(to, '-');
    }
    char *at = to->text + to->length;
    at = put_digits(at, number < 0 ? 0 - (unsigned long long)number : (unsigned long long)number, 1);
    to->length = at - to->text;
    return 0;
}

static int
write_fraction(Output *to, PyObject *value)
{
    double number = PyFloat_AS_DOUBLE(value);
    if (!isfinite(number)) {
        return WRITE(to, "null");
    }
    char *text = PyOS_double_to_string(number, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    if (text == NULL) {
        return -1;
    }
    int failed = write_bytes(to, text, (Py_ssize_t)strlen(text));
    PyMem_Free(text);
    return failed;
}

/* Write what is JSON already. */
static int
write_spliced(Output *to, PyObject *value)
{
    PyObject *text = PyObject_GetAttrString(value, "text");
    int failed = -1;
    if (text != NULL && PyBytes_Check(text)) {
        failed = write_bytes(to, PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text));
    }
    else if (text != NULL) {
        PyErr_SetString(PyExc_TypeError, "JSON that is no bytes");
    }
    Py_XDECREF(text);
    return failed;
}

static int write_plain(Output *to, PyObject *value, PyTypeObject *spliced, int levels);

static int
write_array(Output *to, PyObject *value, PyTypeObject *spliced, int levels)
{
    PyObject *element;
    int failed = WRITE(to, "[") < 0;
    for (Py_ssize_t i = 0; !failed && (element = element_at(value, i)) != NULL; i++) {
        failed = (i > 0 && WRITE(to, ",") < 0) || write_plain(to, element, spliced, levels) < 0;
        Py_DECREF(element);
    }
    return failed ? -1 : WRITE(to, "]");
}

static int
write_object(Output *to, PyObject *value, PyTypeObject *spliced, int levels)
{
    PyObject *name, *member;
    Py_ssize_t at = 0;
    int failed = WRITE(to, "{") < 0, is_first = 1;
    while (!failed && next_member(value, &at, &name, &member)) {
        failed = (!is_first && WRITE(to, ",") < 0) || write_name(to, name) < 0 || WRITE(to, ":") < 0 ||
                 write_plain(to, member, spliced, levels) < 0;
        is_first = 0;
        Py_DECREF(name);
        Py_DECREF(member);
    }
    return failed ? -1 : WRITE(to, "}");
}

static int
write_plain(Output *to, PyObject *value, PyTypeObject *spliced, int levels)
{
    if (PyUnicode_Check(value)) {
        return write_plain_text(to, value);
    }
    int is_array = PyList_Check(value) || PyTuple_Check(value);
    if (is_array || PyDict_Check(value)) {
        if (levels == 0) {
            PyErr_SetString(PyExc_TypeError, "a value that is nested too deep");
            return -1;
        }
        return is_array ? write_array(to, value, spliced, levels - 1) : write_object(to, value, spliced, levels - 1);
    }
    if (PyBool_Check(value)) {
        return value == Py_True ? WRITE(to, "true") : WRITE(to, "false");
    }
    if (value == Py_None) {
        return WRITE(to, "null");
    }
    if (PyLong_Check(value)) {
        return write_whole(to, value);
    }
    if (PyFloat_Check(value)) {
        return write_fraction(to, value);
    }
    if (Py_TYPE(value) == spliced) {
        return write_spliced(to, value);
    }
    PyErr_Format(PyExc_TypeError, "a value of type %.100s", Py_TYPE(value)->tp_name);
    return -1;
}

PyObject *
write_json(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t number)
{
    if (number != 2 || !PyType_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "a type and a value expected");
        return NULL;
    }
    Output to;
    output_begin(&to);
    int failed = write_plain(&to, args[1], (PyTypeObject *)args[0], DEEPEST_WRITTEN);
    PyObject *json = failed < 0 ? NULL : PyBytes_FromStringAndSize(to.text, to.length);
    output_end(&to);
    return json;
}
