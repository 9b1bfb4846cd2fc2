/*
 * The codec for a pipe: each line `client HEX` or `server HEX` is answered by what the message
 * says and by its bytes encoded anew, or by `bad`.
 *
 * What it says is `{number:value,...}` by ascending number, bytes in hexadecimal.
 */
#include <inttypes.h>
#include <string.h>

#include "check.h"
#include "messages.h"

enum { MOST = 1 << 20 };

static uint8_t arena[16 * MOST];
static size_t used;

static void* reserve(size_t size)
{
    void* place = arena + used;
    used += (size + 15) / 16 * 16;
    CHECK(used <= sizeof arena);
    return place;
}

static void* member_of(const struct pb_field* field, void* message)
{
    return (char*)message + field->offset;
}

static bool is_set(const struct pb_field* field, void* message)
{
    uint32_t which;
    memcpy(&which, (char*)message + field->which, sizeof which);
    return field->label != PB_ONEOF || which == field->number;
}

/* ---- decoded lists as the encoder takes them ------------------------------------------------ */

static void thaw(const struct pb_type* type, void* message);

static void thaw_list(const struct pb_field* field, struct pb_list* list)
{
    bool is_text = field->kind == PB_STRING;
    size_t step = is_text ? sizeof(char*) : field->type->size, i = 0;
    char* items = reserve(list->count * step);
    struct pb_view rest = list->raw, bytes;
    for (; pb_list_next(list, &rest, &bytes); i++) {
        if (is_text) {
            char* text = reserve(bytes.len + 1);
            memcpy(text, bytes.data, bytes.len);
            text[bytes.len] = 0;
            memcpy(items + i * step, &text, sizeof text);
        } else {
            CHECK(pb_read(field->type, items + i * step, bytes));
            thaw(field->type, items + i * step);
        }
    }
    CHECK_EQUAL(i, list->count);
    list->items = items;
}

static void thaw(const struct pb_type* type, void* message)
{
    for (size_t i = 0; i < type->count; i++) {
        const struct pb_field* field = &type->fields[i];
        if (field->label == PB_REPEATED) {
            thaw_list(field, member_of(field, message));
        } else if (field->kind == PB_MESSAGE && is_set(field, message)) {
            thaw(field->type, member_of(field, message));
        }
    }
}

/* ---- text ----------------------------------------------------------------------------------- */

static void print_message(const struct pb_type* type, void* message);

static void print_hex(const uint8_t* data, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        printf("%02x", data[i]);
    }
}

static void print_value(const struct pb_field* field, void* member)
{
    printf("%" PRIu32 ":", field->number);
    switch (field->kind) {
    case PB_UINT32:
        printf("%" PRIu32, *(uint32_t*)member);
        break;
    case PB_UINT64:
        printf("%" PRIu64, *(uint64_t*)member);
        break;
    case PB_INT64:
        printf("%" PRId64, *(int64_t*)member);
        break;
    case PB_SINT32:
    case PB_ENUM:
        printf("%" PRId32, *(int32_t*)member);
        break;
    case PB_BOOL:
        printf("%d", *(bool*)member);
        break;
    case PB_STRING:
    case PB_BYTES:
        print_hex(((struct pb_view*)member)->data, ((struct pb_view*)member)->len);
        break;
    case PB_MESSAGE:
        print_message(field->type, member);
        break;
    }
    printf(",");
}

/* A list was thawed: its elements are strings or structs now. */
static void print_list(const struct pb_field* field, const struct pb_list* list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (field->kind == PB_STRING) {
            struct pb_view text = pb_string(((const char* const*)list->items)[i]);
            print_value(field, &text);
        } else {
            print_value(field, (char*)list->items + i * field->type->size);
        }
    }
}

static bool is_default(const struct pb_field* field, const void* member)
{
    static const uint8_t zeros[sizeof(struct pb_view)];
    switch (field->kind) {
    case PB_STRING:
    case PB_BYTES:
        return ((const struct pb_view*)member)->len == 0;
    case PB_UINT64:
    case PB_INT64:
        return !memcmp(member, zeros, 8);
    case PB_BOOL:
        return !*(const bool*)member;
    default:
        return !memcmp(member, zeros, 4);
    }
}

static void print_message(const struct pb_type* type, void* message)
{
    printf("{");
    for (size_t i = 0; i < type->count; i++) {
        const struct pb_field* field = &type->fields[i];
        void* member = member_of(field, message);
        if (field->label == PB_REPEATED) {
            print_list(field, member);
        } else if (field->label == PB_ONEOF ? is_set(field, message) : !is_default(field, member)) {
            print_value(field, member);
        }
    }
    printf("}");
}

/* ---- lines ---------------------------------------------------------------------------------- */

static size_t from_hex(const char* text, uint8_t* out)
{
    size_t len = 0;
    unsigned byte;
    for (; sscanf(text, "%2x", &byte) == 1; text += 2) {
        out[len++] = (uint8_t)byte;
    }
    return len;
}

static void answer(const struct pb_type* type, const char* hex)
{
    static uint8_t wire[MOST], again[MOST];
    struct pb_view bytes = {wire, from_hex(hex, wire)};
    size_t size;
    used = 0;
    void* message = reserve(type->size);
    if (!pb_read(type, message, bytes)) {
        printf("bad\n");
        return;
    }
    thaw(type, message);
    CHECK(pb_measure(type, message, &size));
    CHECK(pb_write(type, message, again) == again + size);
    print_message(type, message);
    printf(" ");
    print_hex(again, size);
    printf("\n");
}

int main(void)
{
    static char line[2 * MOST + 16];
    while (fgets(line, sizeof line, stdin)) {
        bool is_client = !strncmp(line, "client ", 7);
        CHECK(is_client || !strncmp(line, "server ", 7));
        answer(is_client ? &client_message_type : &server_message_type, line + 7);
    }
    return 0;
}
