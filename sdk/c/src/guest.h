/* One guest operation: who is asked, what, and where the answer lies. */
#ifndef GUEST_H
#define GUEST_H

#include "client.h"

enum { WRITE_CHUNK = 48 * 1024 /* bytes of file data in one message */ };

/** Begun by guest_begin(), asked as often as needed, ended by guest_end(). */
struct guest_call {
    struct client* client;
    struct client_message message;
    struct guest_request* request;  /* in `message`; its `operation` is to be filled */
    struct guest_response response; /* points into `room` until the next question */
    uint8_t* room;
};

/**
 * Find the sandbox.
 * @return SANDBOX_ERR_INVALID_SPEC if `handle` or `path` is NULL, SANDBOX_ERR_DAEMON_UNREACHABLE,
 *         SANDBOX_ERR_PERMISSION_DENIED or SANDBOX_ERR_INTERNAL; then there is nothing to end
 */
sandbox_error_t guest_begin(struct guest_call* call, const sandbox_handle_t* handle,
                            const char* path);

/** Ask what is in the request.  On SANDBOX_OK the result is of the same kind. */
sandbox_error_t guest_ask(struct guest_call* call, uint32_t operation);

/** Free what the call holds. */
void guest_end(struct guest_call* call);

#endif
