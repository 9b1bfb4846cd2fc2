#include "pb.h"

#include <string.h>

enum { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };

static bool take(struct pb_view* rest, size_t len)
{
    if (rest->len < len) {
        return false;
    }
    rest->data += len;
    rest->len -= len;
    return true;
}

static bool take_varint(struct pb_view* rest, uint64_t* out)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && rest->len; shift += 7) {
        uint8_t byte = *rest->data;
        (void)take(rest, 1);
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return shift < 63 || byte <= 1; /* the tenth byte has one bit left */
        }
    }
    return false;
}

bool pb_next(struct pb_view* rest, struct pb_token* out)
{
    uint64_t tag;
    if (!take_varint(rest, &tag) || tag >> 32 || tag >> 3 == 0) {
        return false;
    }
    memset(out, 0, sizeof *out);
    out->number = (uint32_t)(tag >> 3);
    switch (tag & 7) {
    case WIRE_VARINT:
        return take_varint(rest, &out->value);
    case WIRE_64: /* no message of ours has these two; a later one's are skipped */
        return take(rest, 8);
    case WIRE_32:
        return take(rest, 4);
    case WIRE_BYTES: {
        uint64_t len;
        if (!take_varint(rest, &len) || len > rest->len) {
            return false;
        }
        out->is_bytes = true;
        out->bytes.data = rest->data;
        out->bytes.len = (size_t)len;
        return take(rest, (size_t)len);
    }
    default: /* groups, which proto3 does not have */
        return false;
    }
}

static void set_scalar(enum pb_kind kind, void* member, uint64_t value)
{
    switch (kind) {
    case PB_UINT32:
        *(uint32_t*)member = (uint32_t)value;
        break;
    case PB_UINT64:
        *(uint64_t*)member = value;
        break;
    case PB_INT64:
        *(int64_t*)member = (int64_t)value;
        break;
    case PB_ENUM:
        *(int32_t*)member = (int32_t)(uint32_t)value;
        break;
    case PB_BOOL:
        *(bool*)member = value != 0;
        break;
    case PB_SINT32: {
        uint32_t zigzag = (uint32_t)value;
        *(int32_t*)member = (int32_t)(zigzag >> 1 ^ (zigzag & 1 ? UINT32_MAX : 0));
        break;
    }
    case PB_STRING:
    case PB_BYTES:
    case PB_MESSAGE:
        break;
    }
}

static bool set_bytes(const struct pb_field* field, void* member, struct pb_view bytes)
{
    if (field->kind == PB_MESSAGE) {
        return pb_read(field->type, member, bytes);
    }
    *(struct pb_view*)member = bytes;
    return field->kind == PB_BYTES || pb_is_utf8(bytes);
}

/* An element is only checked and counted here; where it lies is found again by pb_list_next(). */
static bool add_element(const struct pb_field* field, struct pb_list* list,
                        const struct pb_token* token, struct pb_view whole)
{
    list->raw = whole;
    list->number = field->number;
    list->count++;
    return field->kind != PB_STRING || pb_is_utf8(token->bytes);
}

static bool set_field(const struct pb_field* field, void* message, const struct pb_token* token,
                      struct pb_view whole)
{
    void* member = (char*)message + field->offset;
    if (token->is_bytes != (field->kind >= PB_STRING)) {
        return true; /* another wire type: as an unknown field */
    }
    if (field->label == PB_REPEATED) {
        return add_element(field, member, token, whole);
    }
    if (field->label == PB_ONEOF) {
        memcpy((char*)message + field->which, &field->number, sizeof field->number);
    }
    if (token->is_bytes) {
        return set_bytes(field, member, token->bytes);
    }
    set_scalar(field->kind, member, token->value);
    return true;
}

static const struct pb_field* field_of(const struct pb_type* type, uint32_t number)
{
    for (size_t i = 0; i < type->count; i++) {
        if (type->fields[i].number == number) {
            return &type->fields[i];
        }
    }
    return NULL;
}

bool pb_read(const struct pb_type* type, void* message, struct pb_view bytes)
{
    memset(message, 0, type->size);
    struct pb_view rest = bytes;
    while (rest.len) {
        struct pb_token token;
        if (!pb_next(&rest, &token)) {
            return false;
        }
        const struct pb_field* field = field_of(type, token.number);
        if (field && !set_field(field, message, &token, bytes)) {
            return false;
        }
    }
    return true;
}

bool pb_list_next(const struct pb_list* list, struct pb_view* rest, struct pb_view* out)
{
    struct pb_token token;
    while (rest->len && pb_next(rest, &token)) {
        if (token.number == list->number && token.is_bytes) {
            *out = token.bytes;
            return true;
        }
    }
    return false;
}
