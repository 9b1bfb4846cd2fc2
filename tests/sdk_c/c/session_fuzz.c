/*
 * libFuzzer on what a daemon may send: three bytes of plan, then the stream.
 *
 * Byte 0: how many requests are open, and of which kinds.  Byte 1: how the stream is cut.
 * Byte 2: whether the rest is also decoded as each of the messages.
 */
#include <stdlib.h>
#include <string.h>

#include "session.h"

enum { REQUESTS = 16 };

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

static uint8_t rooms[REQUESTS][MAX_REPLY];

static void must(bool condition)
{
    if (!condition) {
        abort();
    }
}

static uint32_t read_view(struct pb_view view)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < view.len; i++) {
        sum += view.data[i];
    }
    return sum;
}

static void read_reply(const struct session_request* request)
{
    struct guest_response response;
    struct pb_view body = {request->reply, request->reply_len}, rest, bytes;
    if (!pb_read(&guest_response_type, &response, body)) {
        return;
    }
    if (response.result_case == GUEST_RESPONSE_LIST_DIR) {
        const struct pb_list* list = &response.result.list_dir.entries;
        size_t count = 0;
        for (rest = list->raw; pb_list_next(list, &rest, &bytes); count++) {
            struct guest_dir_entry entry;
            if (pb_read(&guest_dir_entry_type, &entry, bytes)) {
                (void)read_view(entry.name);
            }
        }
        must(count == list->count);
    } else if (response.result_case == GUEST_RESPONSE_EXEC) {
        (void)read_view(response.result.exec.out);
        (void)read_view(response.result.exec.err);
    }
}

static size_t drain(struct session* session)
{
    size_t count = 0;
    struct session_request* request;
    while ((request = session_next_finished(session))) {
        must(request->is_finished);
        must(request->status <= 0 && request->status >= SANDBOX_ERR_TIMEOUT);
        if (request->status == SANDBOX_OK) {
            read_reply(request);
        }
        count++;
    }
    return count;
}

static size_t feed(struct session* session, const uint8_t* data, size_t size, size_t cut)
{
    size_t finished = 0;
    while (size) {
        size_t room;
        uint8_t* input = session_input(session, &room);
        must(room > 0);
        size_t some = cut < size ? cut : size;
        some = some < room ? some : room;
        memcpy(input, data, some);
        session_received(session, some);
        finished += drain(session);
        data += some;
        size -= some;
    }
    return finished;
}

static void decode_as_all(const uint8_t* data, size_t size)
{
    struct pb_view bytes = {data, size};
    union {
        struct client_message client;
        struct server_message server;
        struct error_response error;
    } message;
    (void)pb_read(&client_message_type, &message.client, bytes);
    (void)pb_read(&server_message_type, &message.server, bytes);
    (void)pb_read(&error_response_type, &message.error, bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size)
{
    struct session session;
    struct session_request requests[REQUESTS];
    if (size < 3 || !session_begin(&session)) {
        return 0;
    }
    size_t count = data[0] % (REQUESTS + 1), finished;
    for (size_t i = 0; i < count; i++) {
        struct client_message message = {.request_case = 1 + (data[0] / 17 + i) % 7};
        requests[i] = (struct session_request){.reply = rooms[i], .reply_room = MAX_REPLY};
        must(session_submit(&session, &requests[i], &message) == SANDBOX_OK);
    }
    finished = feed(&session, data + 3, size - 3, data[1] ? data[1] : size);
    session_lose(&session, SANDBOX_ERR_DAEMON_UNREACHABLE);
    finished += drain(&session);
    must(finished == count); /* each exactly once */
    session_end(&session);
    if (data[2] & 1) {
        decode_as_all(data + 3, size - 3);
    }
    return 0;
}
