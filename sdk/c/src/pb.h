/*
 * Protocol Buffers' wire format, driven by tables.
 *
 * Bytes in, structs out and back; no I/O, no allocation, no state.  tools/codegen/c_messages.py
 * writes the structs and the tables (messages.h) from the project's own .proto.  Only what those
 * messages use is here: varints, strings, bytes, messages, repeated strings and messages, oneofs.
 *
 * A decoded struct points into the bytes it was decoded from and is valid as long as they are.
 */
#ifndef PB_H
#define PB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Bytes somewhere else. */
struct pb_view {
    const uint8_t* data;
    size_t len;
};

/**
 * A repeated field.
 *
 * To encode, set `items` and `count`: an array of `const char*` for strings, of the message's
 * structs for messages.  Decoding sets `raw` and `count`; read it with pb_list_next().
 */
struct pb_list {
    const void* items;
    size_t count;
    struct pb_view raw;
    uint32_t number;
};

/** Those from PB_STRING on are bytes on the wire, those before it varints. */
enum pb_kind {
    PB_UINT32,
    PB_UINT64,
    PB_INT64,
    PB_SINT32,
    PB_BOOL,
    PB_ENUM,
    PB_STRING,
    PB_BYTES,
    PB_MESSAGE
};

enum pb_label { PB_SINGLE, PB_REPEATED, PB_ONEOF };

struct pb_type;

/** One field of a message. */
struct pb_field {
    uint32_t number;
    enum pb_kind kind;
    enum pb_label label;
    uint16_t offset;             /* of the member in the struct */
    uint16_t which;              /* PB_ONEOF: of the uint32_t that holds the number of the one set */
    const struct pb_type* type;  /* PB_MESSAGE */
};

/** One message: its fields by ascending number. */
struct pb_type {
    const struct pb_field* fields;
    size_t count;
    size_t size; /* of the struct */
};

/** A field as it is on the wire. */
struct pb_token {
    uint32_t number;
    bool is_bytes;
    uint64_t value;       /* !is_bytes */
    struct pb_view bytes; /* is_bytes */
};

/** The bytes of a C string; NULL is the empty one. */
struct pb_view pb_string(const char* text);

/** A NULL-terminated array of C strings; NULL is the empty one. */
struct pb_list pb_strings(const char* const* items);

/** The size of `message` on the wire.  False if a string in it is not UTF-8. */
bool pb_measure(const struct pb_type* type, const void* message, size_t* size);

/** Write `message` at `out`, which has room for what pb_measure() said; return the end. */
uint8_t* pb_write(const struct pb_type* type, const void* message, uint8_t* out);

/**
 * Decode `bytes` into the struct `message`, which is cleared first.
 *
 * Unknown fields are skipped.  A field that occurs twice has its last value.
 * False if the bytes are no message of this type.
 */
bool pb_read(const struct pb_type* type, void* message, struct pb_view bytes);

/** Take one field off the front of `*rest`.  False at the end and at what is no field. */
bool pb_next(struct pb_view* rest, struct pb_token* out);

/** Take one element off a decoded list; `*rest` begins as `list->raw`.  False at the end. */
bool pb_list_next(const struct pb_list* list, struct pb_view* rest, struct pb_view* out);

/** Whether the bytes are UTF-8, as Protocol Buffers demands of a string. */
bool pb_is_utf8(struct pb_view text);

#endif
