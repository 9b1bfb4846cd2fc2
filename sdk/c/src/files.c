/* Whole files, in pieces that fit a message. */
#include <stdlib.h>
#include <string.h>

#include "guest.h"

enum { WRITE_FLAGS = SANDBOX_WRITE_EXCL | SANDBOX_WRITE_APPEND | SANDBOX_WRITE_PARENTS };

/* ---- read --------------------------------------------------------------------------------- */

/** A file as far as it was read. */
struct content {
    uint8_t* data;
    size_t len;
    size_t room;
};

/* The guest says how big the file is, so that one allocation does unless it grows meanwhile. */
static sandbox_error_t add_piece(struct content* content,
                                 const struct guest_read_file_response* piece)
{
    size_t len = content->len + piece->data.len;
    if (len > SANDBOX_MAX_FILE || (piece->truncated && piece->file_size > SANDBOX_MAX_FILE)) {
        return SANDBOX_ERR_TOO_LARGE;
    }
    if (!content->data || len > content->room) {
        bool is_more = piece->truncated && piece->file_size > len;
        size_t room = is_more ? (size_t)piece->file_size : len;
        uint8_t* data = realloc(content->data, room ? room : 1);
        if (!data) {
            return SANDBOX_ERR_INTERNAL;
        }
        content->data = data;
        content->room = room;
    }
    if (piece->data.len) {
        memcpy(content->data + content->len, piece->data.data, piece->data.len);
    }
    content->len = len;
    return SANDBOX_OK;
}

static sandbox_error_t read_pieces(struct guest_call* call, struct content* content)
{
    const struct guest_read_file_response* piece = &call->response.result.read_file;
    do {
        call->request->operation.read_file.offset = content->len;
        sandbox_error_t status = guest_ask(call, GUEST_REQUEST_READ_FILE);
        if (!status && piece->truncated && !piece->data.len) {
            status = SANDBOX_ERR_INTERNAL; /* more to come but nothing came: it would never end */
        }
        if (!status) {
            status = add_piece(content, piece);
        }
        if (status) {
            return status;
        }
    } while (piece->truncated);
    return SANDBOX_OK;
}

sandbox_error_t sandbox_read_file(sandbox_handle_t* handle, const char* path, uint8_t** data,
                                  size_t* len)
{
    struct guest_call call;
    struct content content = {0};
    if (!data || !len) {
        return SANDBOX_ERR_INVALID_SPEC;
    }
    *data = NULL;
    *len = 0;
    sandbox_error_t status = guest_begin(&call, handle, path);
    if (status) {
        return status;
    }
    call.request->operation.read_file.path = pb_string(path);
    status = read_pieces(&call, &content);
    guest_end(&call);
    if (status) {
        free(content.data);
        return status;
    }
    *data = content.data;
    *len = content.len;
    return SANDBOX_OK;
}

/* ---- write -------------------------------------------------------------------------------- */

static void put_write(struct guest_write_file_request* request, const char* path, uint32_t mode,
                      uint32_t flags)
{
    request->path = pb_string(path);
    request->mode = mode;
    request->append = (flags & SANDBOX_WRITE_APPEND) != 0;
    request->exclusive = (flags & SANDBOX_WRITE_EXCL) != 0;
    request->parents = (flags & SANDBOX_WRITE_PARENTS) != 0;
}

/* The first piece does what the flags say, an empty file too; the others only add to it. */
static sandbox_error_t write_pieces(struct guest_call* call, struct pb_view rest)
{
    struct guest_write_file_request* request = &call->request->operation.write_file;
    sandbox_error_t status;
    do {
        request->data.data = rest.data;
        request->data.len = rest.len < WRITE_CHUNK ? rest.len : WRITE_CHUNK;
        status = guest_ask(call, GUEST_REQUEST_WRITE_FILE);
        rest.len -= request->data.len;
        if (rest.len) {
            rest.data += request->data.len;
        }
        request->append = true;
        request->exclusive = false;
        request->parents = false;
    } while (!status && rest.len);
    return status;
}

sandbox_error_t sandbox_write_file(sandbox_handle_t* handle, const char* path, const uint8_t* data,
                                   size_t len, uint32_t mode, uint32_t flags)
{
    struct guest_call call;
    struct pb_view rest = {data, len};
    if ((len && !data) || (flags & ~(uint32_t)WRITE_FLAGS)) {
        return SANDBOX_ERR_INVALID_SPEC;
    }
    if (len > SANDBOX_MAX_FILE) {
        return SANDBOX_ERR_TOO_LARGE;
    }
    sandbox_error_t status = guest_begin(&call, handle, path);
    if (status) {
        return status;
    }
    put_write(&call.request->operation.write_file, path, mode, flags);
    status = write_pieces(&call, rest);
    guest_end(&call);
    return status;
}
