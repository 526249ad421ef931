/* What dicts and lists hold that others may change: each reference is the caller's own from the start.

   Between a borrowed reference and its use another thread, or a function of a program, may take the object away. */

#ifndef DYNAMAP_OWNED_H
#define DYNAMAP_OWNED_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Where Python has one lock for everything, a thread keeps it as long as no function is called: no more is needed. */
#if PY_VERSION_HEX < 0x030D0000
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

/* Find a value of a dict; return 1, 0 where there is none, -1 for an error. */
static inline int
find_value(PyObject *dict, PyObject *key, PyObject **value)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyDict_GetItemRef(dict, key, value);
#else
    *value = Py_XNewRef(PyDict_GetItemWithError(dict, key));
    return *value != NULL ? 1 : PyErr_Occurred() ? -1 : 0;
#endif
}

/* Find a value of a dict by a name that the program has, as `find_value` does. */
static inline int
find_text(PyObject *dict, const char *name, PyObject **value)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyDict_GetItemStringRef(dict, name, value);
#else
    *value = Py_XNewRef(PyDict_GetItemString(dict, name));
    return *value != NULL;
#endif
}

/* Move to the next member of a dict, as PyDict_Next does. */
static inline int
next_member(PyObject *dict, Py_ssize_t *at, PyObject **name, PyObject **value)
{
    int more;
    Py_BEGIN_CRITICAL_SECTION(dict);
    more = PyDict_Next(dict, at, name, value);
    if (more) {
        Py_INCREF(*name);
        Py_INCREF(*value);
    }
    Py_END_CRITICAL_SECTION();
    return more;
}

/* Return an element of a list or tuple; NULL, without an error, after the last. */
static inline PyObject *
element_at(PyObject *elements, Py_ssize_t place)
{
    if (PyTuple_Check(elements)) {
        return place < PyTuple_GET_SIZE(elements) ? Py_NewRef(PyTuple_GET_ITEM(elements, place)) : NULL;
    }
#ifdef Py_GIL_DISABLED
    PyObject *element = PyList_GetItemRef(elements, place);
    if (element == NULL) {
        PyErr_Clear();
    }
    return element;
#else
    return place < PyList_GET_SIZE(elements) ? Py_NewRef(PyList_GET_ITEM(elements, place)) : NULL;
#endif
}

#endif
