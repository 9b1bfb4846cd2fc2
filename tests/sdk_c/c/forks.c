/*
 * fork() in the host program, while another thread is in a call: `forks SOCKET TEMPLATE`.
 *
 * The child has no session, may open its own, and by its exit harms neither the parent's session
 * nor its sandboxes.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <libsandbox.h>

#include "check.h"

static const char* template_name;
static sandbox_handle_t* shared;

static sandbox_handle_t* create(void)
{
    sandbox_handle_t* handle = NULL;
    sandbox_spec_t spec = {0};
    spec.template_name = template_name;
    spec.pool_wait_ms = 60000;
    CHECK_EQUAL(sandbox_create(&spec, &handle), SANDBOX_OK);
    return handle;
}

static void* keep_asking(void* stop)
{
    sandbox_status_t status;
    while (!__atomic_load_n((int*)stop, __ATOMIC_ACQUIRE)) {
        CHECK_EQUAL(sandbox_inspect(shared, &status), SANDBOX_OK);
    }
    return NULL;
}

static void be_child(const char* socket_path)
{
    sandbox_status_t status;
    CHECK_EQUAL(sandbox_inspect(shared, &status), SANDBOX_ERR_DAEMON_UNREACHABLE);
    sandbox_cleanup();
    CHECK_EQUAL(sandbox_init(socket_path), SANDBOX_OK);
    CHECK_EQUAL(sandbox_inspect(shared, &status), SANDBOX_ERR_PERMISSION_DENIED);
    sandbox_handle_t* own = create();
    CHECK_EQUAL(sandbox_inspect(own, &status), SANDBOX_OK);
    CHECK_EQUAL(sandbox_destroy(own), SANDBOX_OK);
    sandbox_cleanup();
}

int main(int argc, char** argv)
{
    pthread_t asker;
    sandbox_status_t status;
    int stop = 0;
    CHECK(argc == 3);
    template_name = argv[2];
    CHECK_EQUAL(sandbox_init(argv[1]), SANDBOX_OK);
    shared = create();
    CHECK(!pthread_create(&asker, NULL, keep_asking, &stop));
    for (int i = 0; i < 5; i++) {
        int result;
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            be_child(argv[1]);
            _exit(0);
        }
        CHECK(waitpid(child, &result, 0) == child);
        CHECK_EQUAL(result, 0);
    }
    __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
    pthread_join(asker, NULL);
    CHECK_EQUAL(sandbox_inspect(shared, &status), SANDBOX_OK);
    sandbox_cleanup();
    printf("ok\n");
    return 0;
}
