/*
 * Threads that wait while the daemon dies: `waiters SOCKET THREADS TEMPLATE`.
 *
 * Each thread inspects one sandbox until that fails; all must be told that the daemon is gone.
 * Prints how many were.  A call after that must fail at once, as must one that has to send.
 */
#include <pthread.h>

#include <libsandbox.h>

#include "check.h"

static sandbox_handle_t* shared;

static void* wait_for_the_end(void* argument)
{
    sandbox_status_t seen;
    sandbox_error_t status;
    (void)argument;
    do {
        status = sandbox_inspect(shared, &seen);
    } while (status == SANDBOX_OK);
    CHECK_EQUAL(status, SANDBOX_ERR_DAEMON_UNREACHABLE);
    CHECK_EQUAL(sandbox_inspect(shared, &seen), SANDBOX_ERR_DAEMON_UNREACHABLE);
    return NULL;
}

int main(int argc, char** argv)
{
    pthread_t threads[256];
    CHECK(argc == 4);
    int count = atoi(argv[2]);
    sandbox_spec_t spec = {.template_name = argv[3], .pool_wait_ms = 60000};
    CHECK(count <= 256);
    CHECK_EQUAL(sandbox_init(argv[1]), SANDBOX_OK);
    CHECK_EQUAL(sandbox_create(&spec, &shared), SANDBOX_OK);
    for (int i = 0; i < count; i++) {
        CHECK(!pthread_create(&threads[i], NULL, wait_for_the_end, NULL));
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQUAL(sandbox_destroy(shared), SANDBOX_ERR_DAEMON_UNREACHABLE);
    sandbox_cleanup();
    printf("%d\n", count);
    return 0;
}
