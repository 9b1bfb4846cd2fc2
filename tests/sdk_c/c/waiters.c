/*
 * Threads that wait while the daemon dies: `waiters SOCKET TEMPLATE inspect|exec THREADS`.
 *
 * `inspect`: each thread asks again and again until that fails.  `exec`: each runs a command
 * without end, and THREADS are as many as the daemon runs at once, so that one more is refused.
 * Prints `waiting` when the daemon may be killed, then how many were told that it is gone.  A call
 * after that must fail at once.
 */
#include <pthread.h>
#include <string.h>

#include <libsandbox.h>

#include "check.h"

static sandbox_handle_t* shared;

static sandbox_error_t inspect(void)
{
    sandbox_status_t seen;
    return sandbox_inspect(shared, &seen);
}

static void* inspect_to_the_end(void* argument)
{
    sandbox_error_t status;
    (void)argument;
    do {
        status = inspect();
    } while (status == SANDBOX_OK);
    CHECK_EQUAL(status, SANDBOX_ERR_DAEMON_UNREACHABLE);
    CHECK_EQUAL(inspect(), SANDBOX_ERR_DAEMON_UNREACHABLE);
    return NULL;
}

static void* exec_to_the_end(void* argument)
{
    const char* argv[] = {"sleep", "1000", NULL};
    sandbox_exec_spec_t spec = {.argv = argv};
    sandbox_exec_result_t result;
    sandbox_error_t status;
    (void)argument;
    do {
        status = sandbox_exec(shared, &spec, &result);
    } while (status == SANDBOX_ERR_GUEST_UNAVAILABLE); /* a look by main() took the place */
    CHECK_EQUAL(status, SANDBOX_ERR_DAEMON_UNREACHABLE);
    sandbox_exec_result_free(&result);
    return NULL;
}

static void wait_until_full(void)
{
    sandbox_fstat_t found;
    sandbox_error_t status;
    do {
        status = sandbox_stat(shared, "/workspace", &found);
    } while (status == SANDBOX_OK);
    CHECK_EQUAL(status, SANDBOX_ERR_GUEST_UNAVAILABLE);
}

int main(int argc, char** argv)
{
    pthread_t threads[256];
    CHECK(argc == 5);
    bool is_exec = !strcmp(argv[3], "exec");
    int count = atoi(argv[4]);
    sandbox_spec_t spec = {.template_name = argv[2], .pool_wait_ms = 60000};
    CHECK(count <= 256);
    CHECK_EQUAL(sandbox_init(argv[1]), SANDBOX_OK);
    CHECK_EQUAL(sandbox_create(&spec, &shared), SANDBOX_OK);
    for (int i = 0; i < count; i++) {
        CHECK(!pthread_create(&threads[i], NULL, is_exec ? exec_to_the_end : inspect_to_the_end,
                              NULL));
    }
    if (is_exec) {
        wait_until_full();
    }
    printf("waiting\n");
    fflush(stdout);
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    CHECK_EQUAL(sandbox_destroy(shared), SANDBOX_ERR_DAEMON_UNREACHABLE);
    sandbox_cleanup();
    printf("%d\n", count);
    return 0;
}
