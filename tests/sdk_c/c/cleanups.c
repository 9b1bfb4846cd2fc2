/*
 * Sessions end and begin while other threads are in calls: `cleanups SOCKET TEMPLATE`.
 *
 * Whatever a call meets, it answers with one of the codes that the header lists for it.
 */
#include <pthread.h>

#include <libsandbox.h>

#include "check.h"

enum { THREADS = 8, ROUNDS = 30 };

static const char* socket_path;
static const char* template_name;
static int stop;

static bool is_end(sandbox_error_t status)
{
    return status == SANDBOX_OK || status == SANDBOX_ERR_DAEMON_UNREACHABLE ||
           status == SANDBOX_ERR_PERMISSION_DENIED;
}

static void* live(void* argument)
{
    (void)argument;
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        sandbox_status_t seen;
        sandbox_handle_t* handle = NULL;
        sandbox_spec_t spec = {.template_name = template_name, .pool_wait_ms = 60000};
        CHECK(is_end(sandbox_create(&spec, &handle)));
        if (handle) {
            CHECK(is_end(sandbox_inspect(handle, &seen)));
            CHECK(is_end(sandbox_destroy(handle)));
        }
    }
    return NULL;
}

int main(int argc, char** argv)
{
    pthread_t threads[THREADS];
    CHECK(argc == 3);
    socket_path = argv[1];
    template_name = argv[2];
    for (int i = 0; i < THREADS; i++) {
        CHECK(!pthread_create(&threads[i], NULL, live, NULL));
    }
    for (int i = 0; i < ROUNDS; i++) {
        sandbox_handle_t* handle = NULL;
        sandbox_spec_t spec = {.template_name = template_name, .pool_wait_ms = 60000};
        CHECK_EQUAL(sandbox_init(socket_path), SANDBOX_OK);
        CHECK_EQUAL(sandbox_create(&spec, &handle), SANDBOX_OK);
        sandbox_cleanup();
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("ok\n");
    return 0;
}
