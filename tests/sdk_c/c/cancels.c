/*
 * A thread is cancelled while it is in a call: `cancels SOCKET TEMPLATE`.
 *
 * The daemon answers the command only when it is asked something else: by then the thread was
 * cancelled, and must come out of its call all the same before it ends.
 */
#include <pthread.h>

#include <libsandbox.h>

#include "check.h"

static sandbox_handle_t* handle;
static int came_out;

static void* run(void* argument)
{
    const char* argv[] = {"true", NULL};
    sandbox_exec_spec_t spec = {.argv = argv};
    sandbox_exec_result_t result;
    (void)argument;
    CHECK_EQUAL(sandbox_exec(handle, &spec, &result), SANDBOX_OK);
    sandbox_exec_result_free(&result);
    came_out = 1;
    for (;;) {
        pthread_testcancel();
    }
}

int main(int argc, char** argv)
{
    pthread_t thread;
    void* end;
    sandbox_status_t status;
    sandbox_spec_t spec = {0};
    CHECK(argc == 3);
    spec.template_name = argv[2];
    CHECK_EQUAL(sandbox_init(argv[1]), SANDBOX_OK);
    CHECK_EQUAL(sandbox_create(&spec, &handle), SANDBOX_OK);
    CHECK(!pthread_create(&thread, NULL, run, NULL));
    CHECK_EQUAL(sandbox_pause(handle), SANDBOX_OK); /* answered once the command was asked for */
    CHECK(!pthread_cancel(thread));
    CHECK_EQUAL(sandbox_inspect(handle, &status), SANDBOX_OK);
    CHECK(!pthread_join(thread, &end));
    CHECK(end == PTHREAD_CANCELED && came_out);
    CHECK_EQUAL(sandbox_inspect(handle, &status), SANDBOX_OK);
    sandbox_cleanup();
    printf("ok\n");
    return 0;
}
