/*
 * The frame protocol without I/O: bytes in, events out; requests in, bytes out.
 *
 * Owns which requests are open, their numbers, and the buffers of both directions.  Knows no
 * socket, thread, lock or clock: connection.c feeds it and guards it.
 *
 * Always true
 *   A request that session_submit() took is finished exactly once, by its reply or by the loss
 *   of the session; until then it belongs to the session and must stay where it is.
 *   A lost session stays lost and takes no request.
 *   Reading bytes allocates nothing, so a reply cannot be lost for want of memory.
 */
#ifndef SESSION_H
#define SESSION_H

#include "libsandbox.h"
#include "messages.h"

enum {
    FRAME_HEADER = 4,
    MAX_REQUEST = 256 * 1024, /* bytes of one ClientMessage */
    MAX_REPLY = 64 * 1024,    /* bytes of one ServerMessage */
    REQUEST_BUCKETS = 64
};

/** A request and where its reply goes; lives with its caller. */
struct session_request {
    /* set by the caller */
    uint8_t* reply;      /* room for the body of the reply */
    size_t reply_room;
    void* owner;         /* not looked at */
    /* set by the session */
    bool is_finished;
    sandbox_error_t status;
    size_t reply_len;    /* bytes of the body, on SANDBOX_OK */
    uint64_t id;
    uint32_t wanted;     /* the SERVER_MESSAGE_... that answers it */
    struct session_request* next;
};

/** Bytes to be sent. */
struct session_output {
    uint8_t* data;
    size_t len;
    size_t room;
};

struct session {
    struct session_request* open[REQUEST_BUCKETS]; /* by id */
    size_t open_count;
    struct session_request* finished;              /* in the order of their replies */
    struct session_request** finished_end;
    struct session_output output;
    struct session_output spare;
    uint8_t* input;
    size_t input_len;
    uint64_t last_id;
    bool is_lost;
    sandbox_error_t lost_status;
};

/** False if there is no memory; then there is nothing to free. */
bool session_begin(struct session* session);

/** Free the buffers.  No request may be open. */
void session_end(struct session* session);

/**
 * Give a request a number and put its frame into the output.
 *
 * `message->request_id` is set here.  On anything but SANDBOX_OK the request is not taken:
 * SANDBOX_ERR_INVALID_SPEC for text that is not UTF-8, SANDBOX_ERR_TOO_LARGE above MAX_REQUEST,
 * SANDBOX_ERR_INTERNAL without memory, or what the session was lost with.
 */
sandbox_error_t session_submit(struct session* session, struct session_request* request,
                               struct client_message* message);

/** Take all that is to be sent; `len` is 0 if there is nothing.  Give it back when sent. */
struct session_output session_take_output(struct session* session);

/** Give back a buffer that was sent. */
void session_return_output(struct session* session, struct session_output output);

/** Where the next bytes are to be read to, and how many fit: at least one. */
uint8_t* session_input(struct session* session, size_t* room);

/** `len` bytes were read to session_input(); finish what they answer. */
void session_received(struct session* session, size_t len);

/** The connection ended: finish every open request with `status`. */
void session_lose(struct session* session, sandbox_error_t status);

/** The next request that finished, or NULL. */
struct session_request* session_next_finished(struct session* session);

#endif
