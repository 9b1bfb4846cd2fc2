/*
 * One connection to the daemon: a socket, a thread that reads it, and a session under a lock.
 *
 * Calls of any number of threads overlap.  Whoever submits a request while nobody sends becomes
 * the sender of all that is waiting, so no lock is held while the socket is written.  Replies are
 * read by the reading thread, but for a call that finds nobody reading: it reads for itself, and
 * for all others too until it has its own, because waking a second thread for each reply costs as
 * much as half a round trip.
 *
 * Always true
 *   While a request is open somebody reads, or is about to; so a daemon that has to write before
 *   it reads on is never waited for.
 *   Only who reads declares the session lost, and only after reading all that the daemon sent
 *   before it closed.
 *   The descriptor is closed by connection_free() and nowhere else.
 */
#ifndef CONNECTION_H
#define CONNECTION_H

#include <pthread.h>
#include <time.h>

#include "session.h"

enum { DESTROY_BATCH = 16 };

struct connection {
    int fd;
    pthread_mutex_t lock; /* guards what follows, except the session's input */
    pthread_condattr_t clock;
    pthread_cond_t reader_wanted;
    pthread_t reader;
    bool has_reader; /* `reader` was started */
    bool is_reading; /* somebody is */
    bool is_sending; /* somebody is */
    bool is_closing; /* `reader` is to end */
    struct timespec deadline; /* of connection_destroy() */
    struct session session;
};

/**
 * Make the socket; connects to nothing yet.
 * @return SANDBOX_ERR_INTERNAL without memory or descriptors, and then there is nothing to free
 */
sandbox_error_t connection_begin(struct connection* connection);

/**
 * Connect and start the reading thread.
 * @return SANDBOX_ERR_DAEMON_UNREACHABLE if nobody answers at `path`;
 *         SANDBOX_ERR_INTERNAL if there can be no thread
 */
sandbox_error_t connection_open(struct connection* connection, const char* path);

/**
 * Send a message and wait for its reply.
 * @param[out] reply  room for the body of the reply
 * @param[out] len    bytes of it, on SANDBOX_OK
 * @return what the daemon answered; what session_submit() returns; or
 *         SANDBOX_ERR_DAEMON_UNREACHABLE
 */
sandbox_error_t connection_call(struct connection* connection, struct client_message* message,
                                uint8_t* reply, size_t room, size_t* len);

/** Whether the daemon is gone, as far as that can be seen without asking it. */
bool connection_is_lost(struct connection* connection);

/** Begin the end: from now on a daemon that does not answer is given ten seconds. */
void connection_limit(struct connection* connection);

/** Destroy up to DESTROY_BATCH sandboxes at once; whether that works shows nowhere. */
void connection_destroy(struct connection* connection, const uint32_t* sandbox_ids, size_t count);

/** End the conversation: every call that still waits is finished.  After connection_limit(). */
void connection_close(struct connection* connection);

/** Free it.  It was closed or never opened, and nobody is in a call. */
void connection_free(struct connection* connection);

#endif
