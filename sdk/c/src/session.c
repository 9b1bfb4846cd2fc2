#include "session.h"

#include <stdlib.h>
#include <string.h>

enum {
    FIRST_OUTPUT = 4096,
    MOST_KEPT = 1024 * 1024, /* a burst must not keep its memory for ever */
    INPUT_ROOM = FRAME_HEADER + MAX_REPLY
};

bool session_begin(struct session* session)
{
    memset(session, 0, sizeof *session);
    session->finished_end = &session->finished;
    session->input = malloc(INPUT_ROOM);
    return session->input != NULL;
}

void session_end(struct session* session)
{
    free(session->input);
    free(session->output.data);
    free(session->spare.data);
}

/* ---- open and finished requests ----------------------------------------------------------- */

static struct session_request** bucket_of(struct session* session, uint64_t id)
{
    return &session->open[id % REQUEST_BUCKETS];
}

static struct session_request* take_open(struct session* session, uint64_t id)
{
    for (struct session_request** link = bucket_of(session, id); *link; link = &(*link)->next) {
        if ((*link)->id == id) {
            struct session_request* request = *link;
            *link = request->next;
            session->open_count--;
            return request;
        }
    }
    return NULL;
}

static void finish(struct session* session, struct session_request* request,
                   sandbox_error_t status)
{
    request->status = status;
    request->is_finished = true;
    request->next = NULL;
    *session->finished_end = request;
    session->finished_end = &request->next;
}

struct session_request* session_next_finished(struct session* session)
{
    struct session_request* request = session->finished;
    if (request) {
        session->finished = request->next;
        if (!session->finished) {
            session->finished_end = &session->finished;
        }
    }
    return request;
}

void session_lose(struct session* session, sandbox_error_t status)
{
    if (session->is_lost) {
        return;
    }
    session->is_lost = true;
    session->lost_status = status;
    for (size_t i = 0; i < REQUEST_BUCKETS; i++) {
        while (session->open[i]) {
            struct session_request* request = session->open[i];
            session->open[i] = request->next;
            finish(session, request, status);
        }
    }
    session->open_count = 0;
}

/* ---- out ---------------------------------------------------------------------------------- */

static bool make_room(struct session_output* output, size_t more)
{
    size_t room = output->room ? output->room : FIRST_OUTPUT;
    while (room - output->len < more) {
        room *= 2;
    }
    if (room == output->room) {
        return true;
    }
    uint8_t* data = realloc(output->data, room);
    if (!data) {
        return false;
    }
    output->data = data;
    output->room = room;
    return true;
}

static void put_frame(struct session_output* output, const struct client_message* message,
                      size_t size)
{
    uint8_t* out = output->data + output->len;
    for (unsigned i = 0; i < FRAME_HEADER; i++) {
        out[i] = (uint8_t)(size >> (24 - 8 * i));
    }
    (void)pb_write(&client_message_type, message, out + FRAME_HEADER);
    output->len += FRAME_HEADER + size;
}

sandbox_error_t session_submit(struct session* session, struct session_request* request,
                               struct client_message* message)
{
    if (session->is_lost) {
        return session->lost_status;
    }
    size_t size = 0;
    message->request_id = session->last_id + 1;
    if (!pb_measure(&client_message_type, message, &size)) {
        return SANDBOX_ERR_INVALID_SPEC;
    }
    if (size > MAX_REQUEST) {
        return SANDBOX_ERR_TOO_LARGE;
    }
    if (!make_room(&session->output, FRAME_HEADER + size)) {
        return SANDBOX_ERR_INTERNAL;
    }
    put_frame(&session->output, message, size);
    request->id = ++session->last_id;
    request->wanted = message->request_case; /* an answer has the number of its question */
    request->is_finished = false;
    struct session_request** bucket = bucket_of(session, request->id);
    request->next = *bucket;
    *bucket = request;
    session->open_count++;
    return SANDBOX_OK;
}

struct session_output session_take_output(struct session* session)
{
    struct session_output output = session->output;
    if (output.len) {
        session->output = session->spare;
        memset(&session->spare, 0, sizeof session->spare);
    }
    return output;
}

void session_return_output(struct session* session, struct session_output output)
{
    output.len = 0;
    if (output.room > MOST_KEPT) {
        free(output.data);
    } else if (session->output.data) {
        session->spare = output;
    } else {
        session->output = output;
    }
}

/* ---- in ----------------------------------------------------------------------------------- */

/* A ServerMessage as far as the session needs it: whose it is and where its body lies. */
struct envelope {
    uint64_t id;
    uint32_t body_case;
    struct pb_view body;
};

static bool open_envelope(struct pb_view frame, struct envelope* out)
{
    struct pb_token token;
    memset(out, 0, sizeof *out);
    while (frame.len) {
        if (!pb_next(&frame, &token)) {
            return false;
        }
        if (token.number == 100 && !token.is_bytes) {
            out->id = token.value;
        } else if (token.number <= SERVER_MESSAGE_ERROR && token.is_bytes) {
            out->body_case = token.number;
            out->body = token.bytes;
        }
    }
    return true;
}

/* A code that the header does not have must not reach a program as one. */
static sandbox_error_t known(int32_t code)
{
    bool is_error = code <= SANDBOX_ERR_POOL_EXHAUSTED && code >= SANDBOX_ERR_TIMEOUT;
    return is_error ? (sandbox_error_t)code : SANDBOX_ERR_INTERNAL;
}

static sandbox_error_t error_in(const struct envelope* envelope)
{
    struct error_response error;
    if (!pb_read(&error_response_type, &error, envelope->body)) {
        return SANDBOX_ERR_INTERNAL;
    }
    return known(error.error_code);
}

static sandbox_error_t answer(struct session_request* request, const struct envelope* envelope)
{
    if (envelope->body_case == SERVER_MESSAGE_ERROR) {
        return error_in(envelope);
    }
    if (envelope->body_case != request->wanted || envelope->body.len > request->reply_room) {
        return SANDBOX_ERR_INTERNAL;
    }
    if (envelope->body.len) {
        memcpy(request->reply, envelope->body.data, envelope->body.len);
    }
    request->reply_len = envelope->body.len;
    return SANDBOX_OK;
}

/*
 * A message without an id answers none of our requests, and one with an id that is not open means
 * that the two sides disagree about what was asked.  Both end the session: waiting on would be
 * for ever.  A daemon that refuses this user says so without an id, before it closes.
 */
static sandbox_error_t end_of_session(const struct envelope* envelope)
{
    bool is_refusal = !envelope->id && envelope->body_case == SERVER_MESSAGE_ERROR &&
                      error_in(envelope) == SANDBOX_ERR_PERMISSION_DENIED;
    return is_refusal ? SANDBOX_ERR_PERMISSION_DENIED : SANDBOX_ERR_DAEMON_UNREACHABLE;
}

static void receive_frame(struct session* session, struct pb_view frame)
{
    struct envelope envelope;
    if (!open_envelope(frame, &envelope)) {
        session_lose(session, SANDBOX_ERR_DAEMON_UNREACHABLE);
        return;
    }
    struct session_request* request = envelope.id ? take_open(session, envelope.id) : NULL;
    if (request) {
        finish(session, request, answer(request, &envelope));
    } else {
        session_lose(session, end_of_session(&envelope));
    }
}

uint8_t* session_input(struct session* session, size_t* room)
{
    *room = INPUT_ROOM - session->input_len;
    return session->input + session->input_len;
}

static size_t frame_size(const uint8_t* header)
{
    return (size_t)header[0] << 24 | (size_t)header[1] << 16 | (size_t)header[2] << 8 | header[3];
}

void session_received(struct session* session, size_t len)
{
    size_t at = 0;
    session->input_len += len;
    while (!session->is_lost && session->input_len - at >= FRAME_HEADER) {
        size_t size = frame_size(session->input + at);
        if (size > MAX_REPLY) {
            session_lose(session, SANDBOX_ERR_DAEMON_UNREACHABLE);
            break;
        }
        if (session->input_len - at < FRAME_HEADER + size) {
            break;
        }
        struct pb_view frame = {session->input + at + FRAME_HEADER, size};
        receive_frame(session, frame);
        at += FRAME_HEADER + size;
    }
    session->input_len = session->is_lost ? 0 : session->input_len - at;
    if (at && session->input_len) {
        memmove(session->input, session->input + at, session->input_len);
    }
}
