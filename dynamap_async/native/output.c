#include "output.h"

#include <stdint.h>

#define EIGHT(byte) (0x0101010101010101ULL * (byte))

void
output_begin(Output *to)
{
    to->text = to->first;
    to->room = (Py_ssize_t)sizeof(to->first);
    to->length = 0;
    to->size = 0;
}

void
output_end(Output *to)
{
    if (to->text != to->first) {
        PyMem_Free(to->text);
    }
}

int
output_grow(Output *to, Py_ssize_t more)
{
    Py_ssize_t room = 2 * to->room + more;
    char *text = PyMem_Realloc(to->text == to->first ? NULL : to->text, (size_t)room);
    if (text == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (to->text == to->first) {
        memcpy(text, to->first, (size_t)to->length);
    }
    to->text = text;
    to->room = room;
    return 0;
}

/* Return the place of the first byte that JSON has to escape. */
static inline Text
plain_end(Text at, Text end)
{
    uint64_t bytes;
    for (; end - at >= 8; at += 8) {
        memcpy(&bytes, at, 8);
        uint64_t quotes = bytes ^ EIGHT('"'), slashes = bytes ^ EIGHT('\\');
        uint64_t found = (quotes - EIGHT(1)) & ~quotes;
        found |= (slashes - EIGHT(1)) & ~slashes;
        found |= (bytes - EIGHT(0x20)) & ~bytes;
        if (found & EIGHT(0x80)) {
            break;
        }
    }
    while (at < end && (unsigned char)*at >= 0x20 && *at != '"' && *at != '\\') {
        at++;
    }
    return at;
}

static void
put_escape(Output *to, char byte)
{
    static const char meant[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\", digits[] = "0123456789abcdef";
    const char *found = byte == 0 ? NULL : strchr(meant, byte);
    put_byte(to, '\\');
    if (found != NULL) {
        put_byte(to, letters[found - meant]);
        return;
    }
    put(to, "u00", 3);
    put_byte(to, digits[byte >> 4]);
    put_byte(to, digits[byte & 0xF]);
}

int
write_quoted(Output *to, Text at, Py_ssize_t length)
{
    Text end = at + length;
    to->size += length;
    if (reserve(to, length + 2) < 0) {
        return -1;
    }
    put_byte(to, '"');
    for (;;) {
        Text plain = plain_end(at, end);
        if (reserve(to, plain - at + 6) < 0) { /* an escape sequence or the quote comes after it */
            return -1;
        }
        put(to, at, plain - at);
        if (plain == end) {
            put_byte(to, '"');
            return 0;
        }
        put_escape(to, *plain);
        at = plain + 1;
    }
}

int
write_base64(Output *to, const unsigned char *from, Py_ssize_t length)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    to->size += length;
    if (reserve(to, (length + 2) / 3 * 4 + 2) < 0) {
        return -1;
    }
    char *at = to->text + to->length;
    *at++ = '"';
    for (; length > 0; from += 3, length -= 3) {
        unsigned int second = length > 1 ? from[1] : 0, third = length > 2 ? from[2] : 0;
        unsigned int bits = (unsigned int)from[0] << 16 | second << 8 | third;
        *at++ = letters[bits >> 18];
        *at++ = letters[bits >> 12 & 0x3F];
        *at++ = length > 1 ? letters[bits >> 6 & 0x3F] : '=';
        *at++ = length > 2 ? letters[bits & 0x3F] : '=';
    }
    *at++ = '"';
    to->length = at - to->text;
    return 0;
}

Py_ssize_t
number_size(Text at, Text end)
{
    int negative = at < end && *at == '-';
    at += negative;
    Text point = memchr(at, '.', (size_t)(end - at));
    if (point == NULL) {
        point = end;
    }
    while (at < point && *at == '0') {
        at++;
    }
    while (end > point + 1 && end[-1] == '0') {
        end--;
    }
    if (end <= point + 1) { /* a whole number */
        while (point > at && point[-1] == '0') {
            point--;
        }
        return point == at ? 1 : 1 + (point - at + 1) / 2 + negative;
    }
    Text fraction = point + 1;
    while (point == at && *fraction == '0') {
        fraction++;
    }
    return 1 + (point - at + 1) / 2 + (end - fraction + 1) / 2 + negative;
}

Py_ssize_t
usual_decimal(Text *at, Py_ssize_t length)
{
    Text text = *at;
    if (length > 38 || strspn(text, "-.0123456789") != (size_t)length) { /* 38 characters hold no more digits */
        return 0;
    }
    if (memchr(text, '.', (size_t)length) != NULL) {
        while (text[length - 1] == '0') {
            length--;
        }
        length -= text[length - 1] == '.';
    }
    if (length == 2 && text[0] == '-' && text[1] == '0') {
        *at += 1;
        length--;
    }
    return length;
}

int
write_number(Output *to, Text at, Py_ssize_t length)
{
    if (reserve(to, length + 2) < 0) {
        return -1;
    }
    put_byte(to, '"');
    put(to, at, length);
    put_byte(to, '"');
    to->size += number_size(at, at + length);
    return 0;
}

char *
put_digits(char *at, unsigned long long value, int least)
{
    char digits[20];
    int number = 0;
    do {
        digits[number++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0 || number < least);
    while (number > 0) {
        *at++ = digits[--number];
    }
    return at;
}

/* Of up to 15 digits there is one decimal at most that is read as a certain float; so what is found here is what `repr`
   looks for, the shortest. Digits and power of ten are exact as floats, and their quotient is the nearest float: see
   EXACT_FLOATS. */
int
write_float(Output *to, double value)
{
    static const double POWERS[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6};
    char text[32], *at = text;
    double magnitude = value < 0 ? -value : value;
    for (int decimals = 0; decimals < 7 && magnitude * POWERS[decimals] < 1e15; decimals++) {
        unsigned long long digits = (unsigned long long)(magnitude * POWERS[decimals] + 0.5);
        if ((double)digits / POWERS[decimals] == magnitude) {
            unsigned long long power = (unsigned long long)POWERS[decimals];
            if (value < 0) {
                *at++ = '-';
            }
            at = put_digits(at, digits / power, 1);
            if (decimals > 0) {
                *at++ = '.';
                at = put_digits(at, digits % power, decimals);
            }
            return write_number(to, text, at - text);
        }
    }
    char *written = PyOS_double_to_string(value, 'r', 0, 0, NULL);
    if (written == NULL) {
        return -1;
    }
    int failed = write_number(to, written, (Py_ssize_t)strlen(written));
    PyMem_Free(written);
    return failed;
}
