#include "pb.h"

#include <string.h>

struct pb_view pb_string(const char* text)
{
    struct pb_view view = {(const uint8_t*)text, text ? strlen(text) : 0};
    return view;
}

struct pb_list pb_strings(const char* const* items)
{
    struct pb_list list = {.items = items};
    while (items && items[list.count]) {
        list.count++;
    }
    return list;
}

/* Bytes of the sequence that begins here, or 0 if none does (RFC 3629). */
static size_t utf8_sequence(const uint8_t* p, size_t left)
{
    uint8_t first = p[0], low = 0x80, high = 0xbf;
    size_t len = 0;
    if (first < 0x80) {
        return 1;
    } else if (first >= 0xc2 && first <= 0xdf) {
        len = 2;
    } else if (first >= 0xe0 && first <= 0xef) {
        len = 3;
        low = first == 0xe0 ? 0xa0 : low;   /* no overlong form */
        high = first == 0xed ? 0x9f : high; /* no surrogate */
    } else if (first >= 0xf0 && first <= 0xf4) {
        len = 4;
        low = first == 0xf0 ? 0x90 : low;
        high = first == 0xf4 ? 0x8f : high; /* nothing above U+10FFFF */
    }
    if (len == 0 || len > left || p[1] < low || p[1] > high) {
        return 0;
    }
    for (size_t i = 2; i < len; i++) {
        if ((p[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return len;
}

bool pb_is_utf8(struct pb_view text)
{
    for (size_t at = 0; at < text.len;) {
        size_t len = utf8_sequence(text.data + at, text.len - at);
        if (len == 0) {
            return false;
        }
        at += len;
    }
    return true;
}
