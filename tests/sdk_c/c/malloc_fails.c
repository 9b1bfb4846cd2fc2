/*
 * Every allocation of the library fails once: `malloc_fails SOCKET TEMPLATE`.
 *
 * Whatever fails, a call answers with an error and the session goes on or says that it cannot;
 * what was created is destroyed.  Run under a leak checker.
 */
#include <stdatomic.h>
#include <string.h>

#include <libsandbox.h>

#include "check.h"

void* __real_malloc(size_t size);
void* __real_calloc(size_t count, size_t size);
void* __real_realloc(void* old, size_t size);
void* __wrap_malloc(size_t size);
void* __wrap_calloc(size_t count, size_t size);
void* __wrap_realloc(void* old, size_t size);

static atomic_long countdown = -1; /* the allocation that fails; negative is none */
static atomic_long allocations;

static bool fails(void)
{
    atomic_fetch_add(&allocations, 1);
    return atomic_fetch_sub(&countdown, 1) == 0;
}

void* __wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void* __wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void* __wrap_realloc(void* old, size_t size)
{
    return fails() ? NULL : __real_realloc(old, size);
}

static bool is_expected(sandbox_error_t status)
{
    return status == SANDBOX_OK || status == SANDBOX_ERR_INTERNAL;
}

static void use_files(sandbox_handle_t* handle)
{
    static uint8_t big[100000];
    uint8_t* data;
    size_t len, count;
    sandbox_dirent_t* entries;
    sandbox_fstat_t stat;
    CHECK(is_expected(sandbox_mkdir(handle, "/workspace/d", 0, true)));
    sandbox_error_t wrote =
        sandbox_write_file(handle, "/workspace/d/f", big, sizeof big, 0, SANDBOX_WRITE_PARENTS);
    CHECK(is_expected(wrote));
    if (wrote == SANDBOX_OK) {
        sandbox_error_t status = sandbox_read_file(handle, "/workspace/d/f", &data, &len);
        CHECK(is_expected(status) && (status == SANDBOX_OK) == (data != NULL));
        free(data);
        CHECK(is_expected(sandbox_stat(handle, "/workspace/d/f", &stat)));
    }
    CHECK(is_expected(sandbox_list_dir(handle, "/workspace", &entries, &count, NULL)));
    free(entries);
}

static void use(sandbox_handle_t* handle)
{
    const char* argv[] = {"echo hello", NULL};
    sandbox_exec_spec_t spec = {.argv = argv, .flags = SANDBOX_EXEC_SHELL};
    sandbox_exec_result_t result;
    sandbox_status_t status;
    CHECK(is_expected(sandbox_inspect(handle, &status)));
    CHECK(is_expected(sandbox_exec(handle, &spec, &result)));
    sandbox_exec_result_free(&result);
    use_files(handle);
}

static void live(const char* socket_path, const char* template_name)
{
    sandbox_handle_t* handles[20] = {0}; /* more than the registry's first room */
    sandbox_spec_t spec = {.template_name = template_name};
    if (sandbox_init(socket_path) != SANDBOX_OK) {
        return;
    }
    for (int i = 0; i < 20; i++) {
        CHECK(is_expected(sandbox_create(&spec, &handles[i])));
    }
    if (handles[0]) {
        use(handles[0]);
        CHECK(is_expected(sandbox_destroy(handles[0])));
    }
    sandbox_cleanup();
}

int main(int argc, char** argv)
{
    CHECK(argc == 3);
    live(argv[1], argv[2]);
    long total = atomic_load(&allocations);
    for (long i = 0; i < total; i++) {
        atomic_store(&countdown, i);
        live(argv[1], argv[2]);
        atomic_store(&countdown, -1);
    }
    live(argv[1], argv[2]);
    printf("%ld\n", total);
    return 0;
}
