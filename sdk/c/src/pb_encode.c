#include "pb.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static const void* member_of(const struct pb_field* field, const void* message)
{
    return (const char*)message + field->offset;
}

static uint32_t which_of(const struct pb_field* field, const void* message)
{
    uint32_t which;
    memcpy(&which, (const char*)message + field->which, sizeof which);
    return which;
}

static size_t varint_size(uint64_t value)
{
    size_t size = 1;
    while (value >>= 7) {
        size++;
    }
    return size;
}

static uint8_t* put_varint(uint8_t* out, uint64_t value)
{
    while (value >= 0x80) {
        *out++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *out++ = (uint8_t)value;
    return out;
}

static uint8_t* put_tag(uint8_t* out, const struct pb_field* field)
{
    unsigned wire = field->kind >= PB_STRING ? WIRE_BYTES : WIRE_VARINT;
    return put_varint(out, (uint64_t)field->number << 3 | wire);
}

static uint8_t* put_bytes(uint8_t* out, const struct pb_field* field, struct pb_view view)
{
    out = put_varint(put_tag(out, field), view.len);
    if (view.len) {
        memcpy(out, view.data, view.len);
    }
    return out + view.len;
}

static size_t tag_size(const struct pb_field* field)
{
    return varint_size((uint64_t)field->number << 3);
}

static size_t bytes_size(const struct pb_field* field, size_t len)
{
    return tag_size(field) + varint_size(len) + len;
}

/* The number that stands on the wire for a scalar member. */
static uint64_t scalar_of(enum pb_kind kind, const void* member)
{
    switch (kind) {
    case PB_UINT32:
        return *(const uint32_t*)member;
    case PB_UINT64:
        return *(const uint64_t*)member;
    case PB_INT64:
        return (uint64_t) * (const int64_t*)member;
    case PB_ENUM: /* negative ones are sign-extended to 64 bits */
        return (uint64_t)(int64_t) * (const int32_t*)member;
    case PB_BOOL:
        return *(const bool*)member;
    case PB_SINT32: {
        int32_t value = *(const int32_t*)member;
        return (uint32_t)value << 1 ^ (value < 0 ? UINT32_MAX : 0);
    }
    case PB_STRING:
    case PB_BYTES:
    case PB_MESSAGE:
        break;
    }
    return 0;
}

static bool is_present(const struct pb_field* field, const void* message)
{
    const void* member = member_of(field, message);
    if (field->label == PB_ONEOF) {
        return which_of(field, message) == field->number;
    }
    if (field->kind == PB_STRING || field->kind == PB_BYTES) {
        return ((const struct pb_view*)member)->len > 0;
    }
    return field->kind == PB_MESSAGE || scalar_of(field->kind, member) != 0;
}

/* The i-th element of a list of strings; a list of messages is an array of structs. */
static struct pb_view string_at(const struct pb_list* list, size_t i)
{
    return pb_string(((const char* const*)list->items)[i]);
}

static bool measure_one(const struct pb_field* field, const void* member, size_t* size)
{
    if (field->kind == PB_MESSAGE) {
        size_t inner = 0;
        if (!pb_measure(field->type, member, &inner)) {
            return false;
        }
        *size += bytes_size(field, inner);
    } else if (field->kind == PB_STRING || field->kind == PB_BYTES) {
        const struct pb_view* view = member;
        if (field->kind == PB_STRING && !pb_is_utf8(*view)) {
            return false;
        }
        *size += bytes_size(field, view->len);
    } else {
        *size += tag_size(field) + varint_size(scalar_of(field->kind, member));
    }
    return true;
}

static bool measure_list(const struct pb_field* field, const struct pb_list* list, size_t* size)
{
    for (size_t i = 0; i < list->count; i++) {
        struct pb_view text;
        const void* member = &text;
        if (field->kind == PB_MESSAGE) {
            member = (const char*)list->items + i * field->type->size;
        } else {
            text = string_at(list, i);
        }
        if (!measure_one(field, member, size)) {
            return false;
        }
    }
    return true;
}

bool pb_measure(const struct pb_type* type, const void* message, size_t* size)
{
    *size = 0;
    for (size_t i = 0; i < type->count; i++) {
        const struct pb_field* field = &type->fields[i];
        const void* member = member_of(field, message);
        bool fits = true;
        if (field->label == PB_REPEATED) {
            fits = measure_list(field, member, size);
        } else if (is_present(field, message)) {
            fits = measure_one(field, member, size);
        }
        if (!fits) {
            return false;
        }
    }
    return true;
}

static uint8_t* write_one(const struct pb_field* field, const void* member, uint8_t* out)
{
    if (field->kind == PB_MESSAGE) {
        size_t inner = 0;
        (void)pb_measure(field->type, member, &inner); /* the caller's measure passed */
        return pb_write(field->type, member, put_varint(put_tag(out, field), inner));
    }
    if (field->kind == PB_STRING || field->kind == PB_BYTES) {
        return put_bytes(out, field, *(const struct pb_view*)member);
    }
    return put_varint(put_tag(out, field), scalar_of(field->kind, member));
}

static uint8_t* write_list(const struct pb_field* field, const struct pb_list* list, uint8_t* out)
{
    for (size_t i = 0; i < list->count; i++) {
        if (field->kind == PB_MESSAGE) {
            out = write_one(field, (const char*)list->items + i * field->type->size, out);
        } else {
            out = put_bytes(out, field, string_at(list, i));
        }
    }
    return out;
}

uint8_t* pb_write(const struct pb_type* type, const void* message, uint8_t* out)
{
    for (size_t i = 0; i < type->count; i++) {
        const struct pb_field* field = &type->fields[i];
        const void* member = member_of(field, message);
        if (field->label == PB_REPEATED) {
            out = write_list(field, member, out);
        } else if (is_present(field, message)) {
            out = write_one(field, member, out);
        }
    }
    return out;
}
