/* Types, as `dynamap_async.codec` describes them: how values are stored, and what is made of that. */

#ifndef DYNAMAP_TYPE_H
#define DYNAMAP_TYPE_H

#include "json.h"

/* Every kind of type, with what stands before its values in DynamoDB's JSON, and which functions of decode.c read it:
   `read_...` and `take_...`. A function `write_...` of encode.c has the name of the kind.

   Without a tag the reader is given the whole attribute value. */
#define KINDS(KIND)                                                                                    \
    KIND(any, "", any)           /* what its own type tells */                                         \
    KIND(binary, "B", text)                                                                            \
    KIND(boolean, "BOOL", boolean)                                                                     \
    KIND(date, "S", dated)                                                                             \
    KIND(decimal, "N", text)                                                                           \
    KIND(either, "", other)      /* one of several types */                                            \
    KIND(enum, "", enum)         /* a member of an enum, stored as its value */                        \
    KIND(fields, "M", fields)    /* an object with known members */                                    \
    KIND(floating, "N", floating)                                                                      \
    KIND(instant, "S", dated)    /* a datetime in UTC, whatever that is called */                      \
    KIND(integer, "N", integer)                                                                        \
    KIND(list, "L", list)                                                                              \
    KIND(map, "M", map)          /* a dict with any text as keys */                                    \
    KIND(optional, "", optional) /* None, or another type */                                           \
    KIND(other, "", other)       /* what only its converter knows */                                   \
    KIND(text, "S", text)                                                                              \
    KIND(texts, "SS", texts)     /* a set of text */                                                   \
    KIND(uuid, "S", text)

#define AS_CONSTANT(name, tag, reader) KIND_##name,
typedef enum { KINDS(AS_CONSTANT) } Kind;
#undef AS_CONSTANT

/* A guess that threads share without a lock: a wrong one costs a search. */
typedef Py_ssize_t Place;

static inline Py_ssize_t
guessed(const Place *place)
{
#ifdef Py_GIL_DISABLED
    return _Py_atomic_load_ssize_relaxed(place);
#else
    return *place;
#endif
}

static inline void
guess(Place *place, Py_ssize_t value)
{
#ifdef Py_GIL_DISABLED
    _Py_atomic_store_ssize_relaxed(place, value);
#else
    *place = value;
#endif
}

typedef struct Part Part;

typedef struct {
    PyObject *name;
    PyObject *make;
} Absent;

/* Types and their parts never change, but for these guesses; no lock is needed to read them. */
typedef struct Type {
    Kind kind;
    PyObject *of;     /* the type that values are of exactly which are encoded here: None for none; NULL for any type */
    PyObject *encode; /* gives the attribute value of all others, or None for no attribute */
    PyObject *decode; /* gives the value of an attribute value that is not decoded here */
    PyObject *make;   /* makes the value of what is decoded here; NULL where it is the value */
    PyObject *among;  /* the only texts; NULL where there may be others */
    int reads;        /* whether anything is decoded here */
    Py_ssize_t inner_number;
    struct Type *inner; /* of members, of the alternative to None, of an enum's values; or all of `either` */
    Py_ssize_t parts_number;
    Part *parts;           /* of `fields` */
    Py_ssize_t absent_number;
    Absent *absent;        /* parts without a default, and what makes the value of those that are not stored */
    int drops;             /* whether stored members are left out that are no parts */
    int keeps;             /* whether any of the parts is kept */
    Place first;           /* which part came first, when that was decoded last */
} Type;

struct Part {
    PyObject *name;      /* in Python */
    PyObject *stored;
    Text text;           /* the stored name in UTF-8 */
    Py_ssize_t length;
    PyObject *start;     /* the stored name and a colon, as JSON */
    Type type;
    int nullable;        /* whether None is not given to the type where it is encoded */
    PyObject *none;      /* the attribute value of None then; NULL where it is left out */
    PyObject *of_null;   /* makes the value of a stored NULL that the type does not know; NULL for none */
    int kept;            /* encoded: whether it is given in wire form too. Decoded: whether its JSON is kept */
    Place follower;      /* which part came after this one, when that was decoded last */
};

/* Take (kind, type of Python or None, what encodes, what decodes, what makes values or None, the only texts or None,
   whether anything is decoded here, inner types, parts, absent parts, whether unknown members are dropped). */
int make_type(Type *type, PyObject *described);
void free_type(Type *type);
int visit_type(Type *type, visitproc visit, void *arg);

#endif
