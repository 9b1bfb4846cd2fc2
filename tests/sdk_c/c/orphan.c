/*
 * A child outlives its parent: `orphan SOCKET TEMPLATE FIFO`.
 *
 * The parent leaves without cleanup.  The child sees that it has no session and stays until
 * somebody opens the FIFO to write.
 */
#include <fcntl.h>
#include <unistd.h>

#include <libsandbox.h>

#include "check.h"

static void stay(sandbox_handle_t* handle, const char* fifo)
{
    CHECK_EQUAL(sandbox_pause(handle), SANDBOX_ERR_DAEMON_UNREACHABLE);
    int until = open(fifo, O_RDONLY);
    CHECK(until >= 0);
    close(until);
}

int main(int argc, char** argv)
{
    CHECK(argc == 4);
    sandbox_handle_t* handle = NULL;
    sandbox_spec_t spec = {.template_name = argv[2], .pool_wait_ms = 60000};
    CHECK_EQUAL(sandbox_init(argv[1]), SANDBOX_OK);
    CHECK_EQUAL(sandbox_create(&spec, &handle), SANDBOX_OK);
    if (fork() == 0) {
        stay(handle, argv[3]);
    }
    _exit(0);
}
