/*
 * A program built when every struct was longer, with the library of today: `newer_program SOCKET`.
 *
 * A field that is not set is no matter; one that is set and cannot be honoured is an error; what
 * the library cannot tell reads as 0.
 */
#include <string.h>

#include <libsandbox.h>

#include "check.h"

struct newer_spec {
    sandbox_spec_t known;
    uint64_t future;
};
struct newer_exec_spec {
    sandbox_exec_spec_t known;
    uint64_t future;
};
struct newer_status {
    sandbox_status_t known;
    uint64_t future;
};
struct newer_result {
    sandbox_exec_result_t known;
    uint64_t future;
};
struct newer_stat {
    sandbox_fstat_t known;
    uint64_t future;
};
struct newer_entry {
    sandbox_dirent_t known;
    uint64_t future;
};

static sandbox_handle_t* create(void)
{
    sandbox_handle_t* handle = NULL;
    struct newer_spec spec = {.known = {.template_name = "base"}, .future = 1};
    CHECK_EQUAL(sandbox_create_sized(&spec.known, sizeof spec, &handle), SANDBOX_ERR_INVALID_SPEC);
    CHECK(!handle);
    spec.future = 0;
    CHECK_EQUAL(sandbox_create_sized(&spec.known, sizeof spec, &handle), SANDBOX_OK);
    return handle;
}

static void run(sandbox_handle_t* handle)
{
    const char* argv[] = {"/bin/echo", "new", NULL};
    struct newer_exec_spec spec = {.known = {.argv = argv}, .future = 1};
    struct newer_result result;
    memset(&result, 0xa5, sizeof result);
    CHECK_EQUAL(sandbox_exec_sized(handle, &spec.known, sizeof spec, &result.known, sizeof result),
                SANDBOX_ERR_INVALID_SPEC);
    spec.future = 0;
    CHECK_EQUAL(sandbox_exec_sized(handle, &spec.known, sizeof spec, &result.known, sizeof result),
                SANDBOX_OK);
    CHECK(!strcmp((char*)result.known.out, "new\n"));
    CHECK_EQUAL(result.future, 0);
    sandbox_exec_result_free(&result.known);
}

static void look(sandbox_handle_t* handle)
{
    struct newer_status status = {.future = 9};
    struct newer_stat stat = {.future = 9};
    sandbox_dirent_t* entries;
    size_t count;
    CHECK_EQUAL(sandbox_inspect_sized(handle, &status.known, sizeof status), SANDBOX_OK);
    CHECK(status.known.is_running && status.future == 0);
    CHECK_EQUAL(sandbox_mkdir(handle, "/workspace/a", 0, false), SANDBOX_OK);
    CHECK_EQUAL(sandbox_mkdir(handle, "/workspace/b", 0, false), SANDBOX_OK);
    CHECK_EQUAL(sandbox_stat_sized(handle, "/workspace/a", &stat.known, sizeof stat), SANDBOX_OK);
    CHECK(stat.known.type == SANDBOX_FILE_DIRECTORY && stat.future == 0);
    CHECK_EQUAL(sandbox_list_dir_sized(handle, "/workspace", &entries, sizeof(struct newer_entry),
                                       &count, NULL),
                SANDBOX_OK);
    CHECK_EQUAL(count, 2);
    const struct newer_entry* listed = (const struct newer_entry*)(const void*)entries;
    CHECK(!strcmp(listed[1].known.name, "b") && listed[1].future == 0);
    free(entries);
}

int main(int argc, char** argv)
{
    CHECK(argc == 2);
    CHECK_EQUAL(sandbox_init(argv[1]), SANDBOX_OK);
    sandbox_handle_t* handle = create();
    run(handle);
    look(handle);
    sandbox_cleanup();
    printf("ok\n");
    return 0;
}
