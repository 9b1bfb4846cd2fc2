#include "client.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL_REPLY = 512 };

struct client {
    struct connection connection;
    char* path;
    struct client* next;     /* in `all` */
    unsigned references;     /* guarded by `directory` */
    pthread_mutex_t lock;    /* guards what follows */
    struct registry registry;
    bool is_closed;
};

/* `lifecycle` puts one init or cleanup after the other; `directory` guards the pointers. */
static pthread_mutex_t lifecycle = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t directory = PTHREAD_MUTEX_INITIALIZER;
static struct client* current;
static struct client* all;       /* every session that has a descriptor */
static struct client* inherited; /* in a forked child: the parent's, never touched again */

/* ---- fork --------------------------------------------------------------------------------- */

static void before_fork(void)
{
    pthread_mutex_lock(&directory);
}

static void after_fork_in_parent(void)
{
    pthread_mutex_unlock(&directory);
}

/*
 * The child has none of the threads, and locks may be held by them for ever: leave the sessions
 * as they lie, but give up the descriptors, or the daemon would not see the parent leave.
 */
static void after_fork_in_child(void)
{
    static const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;
    for (struct client* client = all; client; client = client->next) {
        close(client->connection.fd);
    }
    if (all) {
        inherited = all;
    }
    all = NULL;
    current = NULL;
    lifecycle = unlocked;
    directory = unlocked;
}

static void watch_forks(void)
{
    (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* ---- references --------------------------------------------------------------------------- */

struct client* client_acquire(void)
{
    pthread_mutex_lock(&directory);
    struct client* client = current;
    if (client) {
        client->references++;
    }
    pthread_mutex_unlock(&directory);
    return client;
}

/* Closes the descriptor, so `directory` is locked: a fork must not see it half closed. */
static void free_client(struct client* client)
{
    struct client** link = &all;
    while (*link != client) {
        link = &(*link)->next;
    }
    *link = client->next;
    connection_free(&client->connection);
    pthread_mutex_destroy(&client->lock);
    free(client->registry.entries);
    free(client->path);
    free(client);
}

void client_release(struct client* client)
{
    pthread_mutex_lock(&directory);
    if (--client->references == 0) {
        free_client(client);
    }
    pthread_mutex_unlock(&directory);
}

/* ---- init and cleanup --------------------------------------------------------------------- */

static struct client* new_client(const char* path)
{
    struct client* client = calloc(1, sizeof *client);
    char* copy = malloc(strlen(path) + 1);
    if (!client || !copy) {
        free(client);
        free(copy);
        return NULL;
    }
    client->path = strcpy(copy, path);
    client->references = 1;
    pthread_mutex_lock(&directory);
    sandbox_error_t status = connection_begin(&client->connection);
    if (!status) {
        pthread_mutex_init(&client->lock, NULL);
        client->next = all;
        all = client;
    }
    pthread_mutex_unlock(&directory);
    if (status) {
        free(client->path);
        free(client);
        return NULL;
    }
    return client;
}

/* From here on no handle is found, and a create that is in flight keeps nothing. */
static size_t take_some(struct client* client, uint32_t* sandbox_ids, size_t most)
{
    pthread_mutex_lock(&client->lock);
    client->is_closed = true;
    size_t count = registry_drain(&client->registry, sandbox_ids, most);
    pthread_mutex_unlock(&client->lock);
    return count;
}

/* Ends the session and drops the reference of `current`.  `lifecycle` is locked. */
static void close_current(void)
{
    uint32_t sandbox_ids[DESTROY_BATCH];
    size_t count;
    pthread_mutex_lock(&directory);
    struct client* client = current;
    current = NULL;
    pthread_mutex_unlock(&directory);
    if (!client) {
        return;
    }
    connection_limit(&client->connection);
    while ((count = take_some(client, sandbox_ids, DESTROY_BATCH))) {
        connection_destroy(&client->connection, sandbox_ids, count);
    }
    connection_close(&client->connection);
    client_release(client);
}

static sandbox_error_t open_current(const char* path)
{
    struct client* client = new_client(path);
    if (!client) {
        return SANDBOX_ERR_INTERNAL;
    }
    sandbox_error_t status = connection_open(&client->connection, path);
    if (status) {
        client_release(client);
        return status;
    }
    pthread_mutex_lock(&directory);
    current = client;
    pthread_mutex_unlock(&directory);
    return SANDBOX_OK;
}

sandbox_error_t sandbox_init(const char* socket_path)
{
    static pthread_once_t forks = PTHREAD_ONCE_INIT;
    const char* path = socket_path ? socket_path : SANDBOX_DEFAULT_SOCKET;
    sandbox_error_t status;
    (void)pthread_once(&forks, watch_forks);
    pthread_mutex_lock(&lifecycle);
    if (current && !connection_is_lost(&current->connection)) {
        status = strcmp(current->path, path) ? SANDBOX_ERR_INVALID_SPEC : SANDBOX_OK;
    } else {
        close_current();
        status = open_current(path);
    }
    pthread_mutex_unlock(&lifecycle);
    return status;
}

void sandbox_cleanup(void)
{
    pthread_mutex_lock(&lifecycle);
    close_current();
    pthread_mutex_unlock(&lifecycle);
}

/* ---- calls -------------------------------------------------------------------------------- */

sandbox_error_t client_find(struct client* client, const sandbox_handle_t* handle,
                            uint32_t* sandbox_id)
{
    pthread_mutex_lock(&client->lock);
    bool is_found = registry_find(&client->registry, handle, sandbox_id);
    pthread_mutex_unlock(&client->lock);
    return is_found ? SANDBOX_OK : SANDBOX_ERR_PERMISSION_DENIED;
}

sandbox_error_t client_ask(struct client* client, struct client_message* message,
                           const struct pb_type* type, void* body, uint8_t* room, size_t size)
{
    struct pb_view reply = {room, 0};
    sandbox_error_t status =
        connection_call(&client->connection, message, room, size, &reply.len);
    if (!status && !pb_read(type, body, reply)) {
        status = SANDBOX_ERR_INTERNAL;
    }
    return status;
}

/* The place for the handle is made first: a sandbox that nobody could destroy must not be. */
sandbox_error_t client_create(struct client* client, struct client_message* message,
                              sandbox_handle_t** out_handle)
{
    uint8_t room[SMALL_REPLY];
    struct create_response created;
    pthread_mutex_lock(&client->lock);
    bool is_reserved = registry_reserve(&client->registry);
    pthread_mutex_unlock(&client->lock);
    if (!is_reserved) {
        return SANDBOX_ERR_INTERNAL;
    }
    sandbox_error_t status =
        client_ask(client, message, &create_response_type, &created, room, sizeof room);
    pthread_mutex_lock(&client->lock);
    if (!status && client->is_closed) {
        status = SANDBOX_ERR_DAEMON_UNREACHABLE; /* closing destroys it */
    }
    if (status) {
        registry_cancel(&client->registry);
    } else {
        *out_handle = registry_add(&client->registry, created.sandbox_id);
    }
    pthread_mutex_unlock(&client->lock);
    return status;
}

sandbox_error_t client_destroy(struct client* client, sandbox_handle_t* handle)
{
    uint8_t room[SMALL_REPLY];
    struct destroy_response destroyed;
    struct client_message message = {.request_case = CLIENT_MESSAGE_DESTROY};
    uint32_t* sandbox_id = &message.request.destroy.sandbox_id;
    pthread_mutex_lock(&client->lock);
    bool is_taken = registry_take(&client->registry, handle, sandbox_id);
    pthread_mutex_unlock(&client->lock);
    if (!is_taken) {
        return SANDBOX_ERR_PERMISSION_DENIED;
    }
    sandbox_error_t status =
        client_ask(client, &message, &destroy_response_type, &destroyed, room, sizeof room);
    pthread_mutex_lock(&client->lock);
    if (status) {
        registry_put_back(&client->registry, handle, *sandbox_id);
    } else {
        registry_cancel(&client->registry);
    }
    pthread_mutex_unlock(&client->lock);
    return status;
}
