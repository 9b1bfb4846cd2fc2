#include "connection.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE_S = 10 /* with a daemon that does not accept, or does not destroy at the end */ };

/** A request whose thread sleeps until it is finished. */
struct waiter {
    struct session_request request;
    pthread_cond_t finished;
};

/* ---- sending ------------------------------------------------------------------------------ */

static bool send_all(int fd, struct session_output output)
{
    size_t sent = 0;
    while (sent < output.len) {
        ssize_t n = send(fd, output.data + sent, output.len - sent, MSG_NOSIGNAL);
        if (n >= 0) {
            sent += (size_t)n;
        } else if (errno != EINTR) {
            return false;
        }
    }
    return true;
}

/*
 * Send what waits, unless somebody does.  Locked at both ends.  A failure only ends the
 * conversation: the reading thread sees that, after it read the reason if the daemon sent one.
 */
static void send_waiting(struct connection* connection)
{
    struct session_output output;
    if (connection->is_sending) {
        return;
    }
    connection->is_sending = true;
    while ((output = session_take_output(&connection->session)).len) {
        pthread_mutex_unlock(&connection->lock);
        if (!send_all(connection->fd, output)) {
            (void)shutdown(connection->fd, SHUT_RDWR);
        }
        pthread_mutex_lock(&connection->lock);
        session_return_output(&connection->session, output);
    }
    connection->is_sending = false;
}

/* ---- reading ------------------------------------------------------------------------------ */

static void wake_finished(struct connection* connection)
{
    struct session_request* request;
    while ((request = session_next_finished(&connection->session))) {
        struct waiter* waiter = request->owner;
        pthread_cond_signal(&waiter->finished);
    }
}

static ssize_t receive(int fd, uint8_t* data, size_t room)
{
    ssize_t n;
    do {
        n = recv(fd, data, room, 0);
    } while (n < 0 && errno == EINTR);
    return n;
}

/* Locked at both ends; by who holds `is_reading`, which guards the session's input. */
static void read_once(struct connection* connection)
{
    size_t room;
    uint8_t* data = session_input(&connection->session, &room);
    pthread_mutex_unlock(&connection->lock);
    ssize_t n = receive(connection->fd, data, room);
    pthread_mutex_lock(&connection->lock);
    if (n > 0) {
        session_received(&connection->session, (size_t)n);
    } else {
        session_lose(&connection->session, SANDBOX_ERR_DAEMON_UNREACHABLE);
    }
    wake_finished(connection);
    if (connection->session.is_lost) { /* also for what it said: let no sender wait for ever */
        (void)shutdown(connection->fd, SHUT_RDWR);
    }
}

/* Read while a call waits and none of them does it. */
static void* read_for_others(void* argument)
{
    struct connection* connection = argument;
    pthread_mutex_lock(&connection->lock);
    while (!connection->is_closing) {
        if (connection->is_reading || !connection->session.open_count) {
            pthread_cond_wait(&connection->reader_wanted, &connection->lock);
            continue;
        }
        connection->is_reading = true;
        while (connection->session.open_count) {
            read_once(connection);
        }
        connection->is_reading = false;
    }
    pthread_mutex_unlock(&connection->lock);
    return NULL;
}

/* The host program's signal handlers run in its own threads. */
static bool start_reader(struct connection* connection)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    connection->has_reader =
        pthread_create(&connection->reader, NULL, read_for_others, connection) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return connection->has_reader;
}

/* ---- life --------------------------------------------------------------------------------- */

sandbox_error_t connection_begin(struct connection* connection)
{
    memset(connection, 0, sizeof *connection);
    connection->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection->fd < 0) {
        return SANDBOX_ERR_INTERNAL;
    }
    if (!session_begin(&connection->session)) {
        close(connection->fd);
        return SANDBOX_ERR_INTERNAL;
    }
    pthread_mutex_init(&connection->lock, NULL);
    pthread_condattr_init(&connection->clock);
    pthread_condattr_setclock(&connection->clock, CLOCK_MONOTONIC);
    pthread_cond_init(&connection->reader_wanted, NULL);
    return SANDBOX_OK;
}

/* Bounds send() and, on a Unix socket, the wait in connect() for a full backlog. */
static void set_patience(int fd, time_t seconds)
{
    struct timeval limit = {.tv_sec = seconds};
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

static bool connect_to(int fd, const char* path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        return false;
    }
    strcpy(address.sun_path, path);
    int failed;
    set_patience(fd, PATIENCE_S);
    do {
        failed = connect(fd, (const struct sockaddr*)&address, sizeof address);
    } while (failed && errno == EINTR);
    set_patience(fd, 0);
    return !failed;
}

sandbox_error_t connection_open(struct connection* connection, const char* path)
{
    if (!connect_to(connection->fd, path)) {
        return SANDBOX_ERR_DAEMON_UNREACHABLE;
    }
    return start_reader(connection) ? SANDBOX_OK : SANDBOX_ERR_INTERNAL;
}

void connection_free(struct connection* connection)
{
    close(connection->fd);
    session_end(&connection->session);
    pthread_cond_destroy(&connection->reader_wanted);
    pthread_condattr_destroy(&connection->clock);
    pthread_mutex_destroy(&connection->lock);
}

/* While nobody reads, an end of file may be lying in the socket. */
static bool is_at_end(int fd)
{
    uint8_t byte;
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

bool connection_is_lost(struct connection* connection)
{
    pthread_mutex_lock(&connection->lock);
    bool is_lost = connection->session.is_lost ||
                   (!connection->is_reading && is_at_end(connection->fd));
    pthread_mutex_unlock(&connection->lock);
    return is_lost;
}

/* ---- calls -------------------------------------------------------------------------------- */

/* Locked.  Leaves nothing to undo unless SANDBOX_OK. */
static sandbox_error_t submit(struct connection* connection, struct waiter* waiter,
                              struct client_message* message)
{
    waiter->request.owner = waiter;
    if (pthread_cond_init(&waiter->finished, &connection->clock)) {
        return SANDBOX_ERR_INTERNAL;
    }
    sandbox_error_t status = session_submit(&connection->session, &waiter->request, message);
    if (status) {
        pthread_cond_destroy(&waiter->finished);
    }
    return status;
}

/* Locked. */
static void want_reader(struct connection* connection)
{
    if (!connection->is_reading && connection->session.open_count) {
        pthread_cond_signal(&connection->reader_wanted);
    }
}

/* Locked. */
static void wait_for(struct connection* connection, struct waiter* waiter)
{
    if (connection->is_reading) {
        while (!waiter->request.is_finished) {
            pthread_cond_wait(&waiter->finished, &connection->lock);
        }
        return;
    }
    connection->is_reading = true;
    while (!waiter->request.is_finished) {
        read_once(connection);
    }
    connection->is_reading = false;
    want_reader(connection);
}

/* Locked.  False if the deadline passed first; leaves the reading, which has none, to others. */
static bool wait_until(struct connection* connection, struct waiter* waiter,
                       const struct timespec* deadline)
{
    int failed = 0;
    want_reader(connection);
    while (!waiter->request.is_finished && !failed) {
        failed = pthread_cond_timedwait(&waiter->finished, &connection->lock, deadline);
    }
    return waiter->request.is_finished;
}

sandbox_error_t connection_call(struct connection* connection, struct client_message* message,
                                uint8_t* reply, size_t room, size_t* len)
{
    struct waiter waiter = {.request = {.reply = reply, .reply_room = room}};
    int cancellation;
    /* A thread that is cancelled in here would leave its stack in the session. */
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancellation);
    pthread_mutex_lock(&connection->lock);
    sandbox_error_t status = submit(connection, &waiter, message);
    if (!status) {
        send_waiting(connection);
        wait_for(connection, &waiter);
        pthread_cond_destroy(&waiter.finished);
        status = waiter.request.status;
        *len = waiter.request.reply_len;
    }
    pthread_mutex_unlock(&connection->lock);
    (void)pthread_setcancelstate(cancellation, NULL);
    return status;
}

void connection_limit(struct connection* connection)
{
    (void)clock_gettime(CLOCK_MONOTONIC, &connection->deadline);
    connection->deadline.tv_sec += PATIENCE_S;
    set_patience(connection->fd, PATIENCE_S);
}

void connection_destroy(struct connection* connection, const uint32_t* sandbox_ids, size_t count)
{
    struct waiter waiters[DESTROY_BATCH];
    size_t sent = 0;
    memset(waiters, 0, sizeof waiters);
    pthread_mutex_lock(&connection->lock);
    for (; sent < count; sent++) {
        struct client_message message = {.request_case = CLIENT_MESSAGE_DESTROY,
                                         .request.destroy.sandbox_id = sandbox_ids[sent]};
        if (submit(connection, &waiters[sent], &message)) {
            break; /* lost, or no memory: the daemon destroys them when we close */
        }
    }
    send_waiting(connection);
    for (size_t i = 0; i < sent; i++) {
        if (!wait_until(connection, &waiters[i], &connection->deadline)) {
            (void)shutdown(connection->fd, SHUT_RDWR); /* which finishes every request */
            wait_for(connection, &waiters[i]);
        }
        pthread_cond_destroy(&waiters[i].finished);
    }
    pthread_mutex_unlock(&connection->lock);
}

void connection_close(struct connection* connection)
{
    (void)shutdown(connection->fd, SHUT_RDWR);
    pthread_mutex_lock(&connection->lock);
    connection->is_closing = true;
    pthread_cond_signal(&connection->reader_wanted);
    pthread_mutex_unlock(&connection->lock);
    if (connection->has_reader) {
        (void)pthread_join(connection->reader, NULL);
    }
}
