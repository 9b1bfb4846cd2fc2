/*
 * The process's session: what lies between sandbox_init() and sandbox_cleanup().
 *
 * A call works on a reference, so that a cleanup in another thread ends it with an error and
 * frees the session only after the last call left it.
 */
#ifndef CLIENT_H
#define CLIENT_H

#include "connection.h"
#include "registry.h"

struct client;

/** The session, or NULL if there is none.  Give it back with client_release(). */
struct client* client_acquire(void);

/** Give a session back. */
void client_release(struct client* client);

/** The sandbox that a handle names in the session; SANDBOX_ERR_PERMISSION_DENIED if none. */
sandbox_error_t client_find(struct client* client, const sandbox_handle_t* handle,
                            uint32_t* sandbox_id);

/**
 * Send a message and decode its reply.
 * @param type   of the reply's body
 * @param body   its struct; what it points to is in `room`
 */
sandbox_error_t client_ask(struct client* client, struct client_message* message,
                           const struct pb_type* type, void* body, uint8_t* room, size_t size);

/** Create, and keep what was created under a handle. */
sandbox_error_t client_create(struct client* client, struct client_message* message,
                              sandbox_handle_t** out_handle);

/** Destroy, and forget the handle if that succeeds. */
sandbox_error_t client_destroy(struct client* client, sandbox_handle_t* handle);

#endif
