/* JSON text.

   Text is always that of a Python bytes object, which ends with a zero byte. That is no part of any JSON, so single
   bytes need no comparison with the end. And text is read twice: `skip_value` checks it, once, when an answer arrives;
   whoever reads what was checked takes its grammar for granted. */

#ifndef DYNAMAP_JSON_H
#define DYNAMAP_JSON_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <float.h>
#include <string.h>

/* How many arrays and objects may stand inside each other: DynamoDB's 32 levels take 65. */
#define DEEPEST 128

/* Whether arithmetic of floats is as exact as they are, and no more. Where it is more, as on some processors, results are
   rounded twice, and floats are left to Python. */
#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD == 0
#define EXACT_FLOATS 1
#else
#define EXACT_FLOATS 0
#endif

typedef const char *Text;

/* What a text between quotes holds besides ASCII as it is. */
enum { PLAIN = 0, ESCAPES = 1, WIDE = 2 };

static inline Text
skip_space(Text at)
{
    while (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t') {
        at++;
    }
    return at;
}

/* Return the place of the quote that closes a text, given that after the opening one, and what it holds. Of text that
   was not checked yet NULL where it is no JSON, no UTF-8, or holds half of a surrogate pair. */
Text text_end(Text at, Text end, int *holds, int checked);

/* Return the place after a value; NULL where it is no JSON, or nested too deep, or has a bare number where none is
   expected: attribute values have none. */
Text skip_value(Text at, Text end, int depth, int numbers);

/* Return the place after a value that was checked, and has no bare number. */
Text skip_checked(Text at, Text end);

/* Return the text between two quotes. */
PyObject *make_text(Text begin, Text close, int holds);

/* Return a value as `json.loads` does, and move the place after it. */
PyObject *make_value(Text *at, Text end);

/* Move from one member of an object to the next: return the place of its opening quote, or NULL after the last.
   Before the first the place is that of the brace, and after the last that after the other brace. */
static inline Text
next_part(Text *at, char close)
{
    Text here = skip_space(*at);
    if (*here != close) {
        here = skip_space(here + 1); /* the opening bracket, or a comma */
        if (*here != close) {
            return here;
        }
    }
    *at = here + 1;
    return NULL;
}

/* Return the place of a member's value, given that of the quote that closes its name. */
static inline Text
after_name(Text quote)
{
    return skip_space(skip_space(quote + 1) + 1);
}

#endif
