/* JSON that is being written, and the size of what it says as DynamoDB counts it. */

#ifndef DYNAMAP_OUTPUT_H
#define DYNAMAP_OUTPUT_H

#include "json.h"

typedef struct {
    char *text;
    Py_ssize_t length;
    Py_ssize_t room;
    Py_ssize_t size;  /* of the values and names in it */
    char first[4096]; /* where the text begins; most items need no more */
} Output;

void output_begin(Output *to);
void output_end(Output *to);

/* Make room for some more bytes; return -1, with an error set, where there is none. */
int output_grow(Output *to, Py_ssize_t more);

static inline int
reserve(Output *to, Py_ssize_t more)
{
    return to->room - to->length >= more ? 0 : output_grow(to, more);
}

/* Write bytes for which there is room. */
static inline void
put(Output *to, const char *text, Py_ssize_t length)
{
    memcpy(to->text + to->length, text, (size_t)length);
    to->length += length;
}

static inline void
put_byte(Output *to, char byte)
{
    to->text[to->length++] = byte;
}

/* Write bytes; return -1, with an error set, where that fails. */
static inline int
write_bytes(Output *to, const char *text, Py_ssize_t length)
{
    if (reserve(to, length) < 0) {
        return -1;
    }
    put(to, text, length);
    return 0;
}

/* Write words that the program has. */
#define WRITE(to, words) write_bytes(to, words, (Py_ssize_t)sizeof(words) - 1)

/* Write a text between quotes, given as UTF-8, and count it. */
int write_quoted(Output *to, Text at, Py_ssize_t length);

/* Write bytes as base64 between quotes, and count them. */
int write_base64(Output *to, const unsigned char *from, Py_ssize_t length);

/* Return the size of a number, given in plain decimal. */
Py_ssize_t number_size(Text at, Text end);

/* Return the length of a number as DynamoDB gives it back, given as Python writes it; 0 where it has an exponent, is no
   number, or may be outside of all limits. The place is moved past the sign of a zero. */
Py_ssize_t usual_decimal(Text *at, Py_ssize_t length);

/* Write a number between quotes, given in plain decimal, and count it. */
int write_number(Output *to, Text at, Py_ssize_t length);

/* Write a float that `repr` writes without an exponent. */
int write_float(Output *to, double value);

/* Write the digits of a number that is not negative, at least so many, and return the place after them. */
char *put_digits(char *at, unsigned long long value, int least);

#endif
