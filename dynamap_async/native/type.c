#include "type.h"

#include "output.h"

#define AS_NAME(name, tag, reader) #name,
static const char *const NAMES[] = {KINDS(AS_NAME)};

/* Keep an object that may be None, as NULL then. */
static PyObject *
unless_none(PyObject *given)
{
    return given == Py_None ? NULL : Py_NewRef(given);
}

/* Return a stored name and a colon, as JSON. */
static PyObject *
start_of(Part *part)
{
    Output to;
    output_begin(&to);
    PyObject *made = NULL;
    if (write_quoted(&to, part->text, part->length) == 0 && WRITE(&to, ":") == 0) {
        made = PyBytes_FromStringAndSize(to.text, to.length);
    }
    output_end(&to);
    return made;
}

/* Take (name, stored name, type, whether None is not given to it, what None is stored as or None, what makes the value
   of a stored NULL or None, whether it is kept). */
static int
make_part(Part *part, PyObject *described)
{
    PyObject *name, *stored, *type, *none, *of_null;
    if (!PyArg_ParseTuple(described, "UUOpOOp", &name, &stored, &type, &part->nullable, &none, &of_null, &part->kept)) {
        return -1;
    }
    part->name = Py_NewRef(name);
    part->stored = Py_NewRef(stored);
    PyUnicode_InternInPlace(&part->name);
    PyUnicode_InternInPlace(&part->stored);
    part->none = unless_none(none);
    part->of_null = unless_none(of_null);
    part->text = PyUnicode_AsUTF8AndSize(part->stored, &part->length);
    part->start = part->text == NULL ? NULL : start_of(part);
    return part->start == NULL ? -1 : make_type(&part->type, type);
}

static int
make_parts(Type *type, PyObject *described)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(described); i++) {
        type->parts_number = i + 1;
        type->parts[i].follower = i + 1;
        if (make_part(&type->parts[i], PyTuple_GET_ITEM(described, i)) < 0) {
            return -1;
        }
        type->keeps |= type->parts[i].kept;
    }
    return 0;
}

static int
make_absent(Type *type, PyObject *described)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(described); i++) {
        PyObject *name, *make;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(described, i), "UO", &name, &make)) {
            return -1;
        }
        type->absent[i].name = Py_NewRef(name);
        type->absent[i].make = Py_NewRef(make);
        type->absent_number = i + 1;
    }
    return 0;
}

int
make_type(Type *type, PyObject *described)
{
    const char *kind;
    PyObject *of, *encode, *decode, *make, *among, *inner, *parts, *absent;
    if (!PyTuple_Check(described)) {
        PyErr_SetString(PyExc_TypeError, "a type is described by a tuple");
        return -1;
    }
    if (!PyArg_ParseTuple(described, "sOOOOOpO!O!O!p", &kind, &of, &encode, &decode, &make, &among, &type->reads,
                          &PyTuple_Type, &inner, &PyTuple_Type, &parts, &PyTuple_Type, &absent, &type->drops)) {
        return -1;
    }
    size_t found = 0, number = sizeof(NAMES) / sizeof(NAMES[0]);
    while (found < number && strcmp(kind, NAMES[found]) != 0) {
        found++;
    }
    if (found == number) {
        PyErr_Format(PyExc_ValueError, "%s is no kind of type", kind);
        return -1;
    }
    type->kind = (Kind)found;
    int is_mixed = type->kind == KIND_any || type->kind == KIND_either || type->kind == KIND_optional;
    type->of = is_mixed ? NULL : Py_NewRef(of);
    type->encode = Py_NewRef(encode);
    type->decode = Py_NewRef(decode);
    type->make = unless_none(make);
    type->among = unless_none(among);
    type->inner = PyMem_Calloc((size_t)PyTuple_GET_SIZE(inner), sizeof(Type));
    type->parts = PyMem_Calloc((size_t)PyTuple_GET_SIZE(parts), sizeof(Part));
    type->absent = PyMem_Calloc((size_t)PyTuple_GET_SIZE(absent), sizeof(Absent));
    if (type->inner == NULL || type->parts == NULL || type->absent == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(inner); i++) {
        type->inner_number = i + 1;
        if (make_type(&type->inner[i], PyTuple_GET_ITEM(inner, i)) < 0) {
            return -1;
        }
    }
    return make_parts(type, parts) < 0 ? -1 : make_absent(type, absent);
}

void
free_type(Type *type)
{
    for (Py_ssize_t i = 0; i < type->inner_number; i++) {
        free_type(&type->inner[i]);
    }
    for (Py_ssize_t i = 0; i < type->parts_number; i++) {
        Part *part = &type->parts[i];
        Py_XDECREF(part->name);
        Py_XDECREF(part->stored);
        Py_XDECREF(part->start);
        Py_XDECREF(part->none);
        Py_XDECREF(part->of_null);
        free_type(&part->type);
    }
    for (Py_ssize_t i = 0; i < type->absent_number; i++) {
        Py_XDECREF(type->absent[i].name);
        Py_XDECREF(type->absent[i].make);
    }
    PyMem_Free(type->inner);
    PyMem_Free(type->parts);
    PyMem_Free(type->absent);
    type->inner = NULL;
    type->parts = NULL;
    type->absent = NULL;
    type->inner_number = type->parts_number = type->absent_number = 0;
    Py_CLEAR(type->of);
    Py_CLEAR(type->encode);
    Py_CLEAR(type->decode);
    Py_CLEAR(type->make);
    Py_CLEAR(type->among);
}

int
visit_type(Type *type, visitproc visit, void *arg)
{
    Py_VISIT(type->of);
    Py_VISIT(type->encode);
    Py_VISIT(type->decode);
    Py_VISIT(type->make);
    Py_VISIT(type->among);
    for (Py_ssize_t i = 0; i < type->inner_number; i++) {
        if (visit_type(&type->inner[i], visit, arg)) {
            return 1;
        }
    }
    for (Py_ssize_t i = 0; i < type->absent_number; i++) {
        Py_VISIT(type->absent[i].make);
    }
    for (Py_ssize_t i = 0; i < type->parts_number; i++) {
        Py_VISIT(type->parts[i].none);
        Py_VISIT(type->parts[i].of_null);
        if (visit_type(&type->parts[i].type, visit, arg)) {
            return 1;
        }
    }
    return 0;
}
