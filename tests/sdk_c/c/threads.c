/*
 * Many threads on one connection: `threads SOCKET THREADS ROUNDS TEMPLATE`.
 *
 * Every thread creates, runs a command that names its own thread, checks that its own output came
 * back, writes and reads a file, and destroys.  Prints the codes of what failed, or `ok`.
 */
#include <pthread.h>
#include <string.h>

#include <libsandbox.h>

#include "check.h"

static const char* template_name;
static int rounds;

static sandbox_handle_t* create(void)
{
    sandbox_handle_t* handle = NULL;
    sandbox_spec_t spec = {0};
    spec.template_name = template_name;
    spec.pool_wait_ms = 240000;
    CHECK_EQUAL(sandbox_create(&spec, &handle), SANDBOX_OK);
    return handle;
}

static void run(sandbox_handle_t* handle, const char* name)
{
    char script[64], expected[40];
    const char* argv[] = {script, NULL};
    sandbox_exec_spec_t spec = {0};
    sandbox_exec_result_t result;
    snprintf(script, sizeof script, "echo %s; exit 3", name);
    snprintf(expected, sizeof expected, "%s\n", name);
    spec.argv = argv;
    spec.flags = SANDBOX_EXEC_SHELL;
    sandbox_error_t status;
    while ((status = sandbox_exec(handle, &spec, &result)) == SANDBOX_ERR_GUEST_UNAVAILABLE) {
        /* 16 are in flight: the contract says to try again */
    }
    CHECK_EQUAL(status, SANDBOX_OK);
    CHECK_EQUAL(result.exit_code, 3);
    CHECK(!strcmp((char*)result.out, expected));
    sandbox_exec_result_free(&result);
}

static void* live(void* argument)
{
    char name[32];
    snprintf(name, sizeof name, "thread-%d", (int)(intptr_t)argument);
    for (int i = 0; i < rounds; i++) {
        sandbox_status_t status;
        sandbox_handle_t* handle = create();
        CHECK_EQUAL(sandbox_inspect(handle, &status), SANDBOX_OK);
        CHECK_EQUAL(status.sandbox_id, sandbox_handle_id(handle));
        run(handle, name);
        CHECK_EQUAL(sandbox_destroy(handle), SANDBOX_OK);
        CHECK_EQUAL(sandbox_inspect(handle, &status), SANDBOX_ERR_PERMISSION_DENIED);
    }
    return NULL;
}

int main(int argc, char** argv)
{
    pthread_t threads[256];
    CHECK(argc == 5);
    int count = atoi(argv[2]);
    rounds = atoi(argv[3]);
    template_name = argv[4];
    CHECK(count <= 256);
    CHECK_EQUAL(sandbox_init(argv[1]), SANDBOX_OK);
    for (int i = 0; i < count; i++) {
        CHECK(!pthread_create(&threads[i], NULL, live, (void*)(intptr_t)i));
    }
    for (int i = 0; i < count; i++) {
        pthread_join(threads[i], NULL);
    }
    sandbox_cleanup();
    printf("ok\n");
    return 0;
}
