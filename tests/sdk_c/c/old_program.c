/*
 * A program built when every struct was shorter, with the library of today: `old_program SOCKET`.
 *
 * Around each struct lie bytes that must neither be read nor written.
 */
#include <string.h>

#include <libsandbox.h>

#include "check.h"

enum { GUARD = 0xa5 };

/* Something of the caller's on both sides. */
#define GUARDED(type)                  \
    struct {                           \
        unsigned char before[64];      \
        type value;                    \
        unsigned char after[64];       \
    }
#define ARM(guarded)                                              \
    do {                                                          \
        memset((guarded).before, GUARD, sizeof (guarded).before); \
        memset((guarded).after, GUARD, sizeof (guarded).after);   \
    } while (0)
#define IS_WHOLE(guarded) (is_guard((guarded).before) && is_guard((guarded).after))

static bool is_guard(const unsigned char* bytes)
{
    for (int i = 0; i < 64; i++) {
        if (bytes[i] != GUARD) {
            return false;
        }
    }
    return true;
}

static sandbox_handle_t* create(void)
{
    GUARDED(sandbox_spec_t) spec = {.value = {.template_name = "base"}};
    sandbox_handle_t* handle = NULL;
    ARM(spec); /* read as egress_allow this would be a wild pointer */
    CHECK_EQUAL(sandbox_create(&spec.value, &handle), SANDBOX_OK);
    CHECK(IS_WHOLE(spec));
    return handle;
}

static void run(sandbox_handle_t* handle)
{
    const char* argv[] = {"/bin/echo", "old", NULL};
    GUARDED(sandbox_exec_spec_t) spec = {.value = {.argv = argv}};
    GUARDED(sandbox_exec_result_t) result;
    ARM(spec);
    ARM(result);
    CHECK_EQUAL(sandbox_exec(handle, &spec.value, &result.value), SANDBOX_OK);
    CHECK(!strcmp((char*)result.value.out, "old\n"));
    CHECK_EQUAL(result.value.out_total, 4);
    sandbox_exec_result_free(&result.value);
    CHECK(IS_WHOLE(result));
}

static void look(sandbox_handle_t* handle)
{
    GUARDED(sandbox_status_t) status;
    GUARDED(sandbox_fstat_t) stat;
    ARM(status);
    ARM(stat);
    CHECK_EQUAL(sandbox_inspect(handle, &status.value), SANDBOX_OK);
    CHECK_EQUAL(status.value.memory_rss_mib, 123);
    CHECK(IS_WHOLE(status));
    CHECK_EQUAL(sandbox_stat(handle, "/workspace/b", &stat.value), SANDBOX_OK);
    CHECK_EQUAL(stat.value.size, 2);
    CHECK(IS_WHOLE(stat));
}

static void list(sandbox_handle_t* handle)
{
    sandbox_dirent_t* entries;
    size_t count;
    CHECK_EQUAL(sandbox_list_dir(handle, "/workspace", &entries, &count, NULL), SANDBOX_OK);
    CHECK_EQUAL(count, 2);
    CHECK(!strcmp(entries[0].name, "a") && !strcmp(entries[1].name, "b"));
    CHECK_EQUAL(entries[1].size, 2); /* the array has this program's stride */
    free(entries);
}

int main(int argc, char** argv)
{
    CHECK(argc == 2);
    CHECK_EQUAL(sandbox_init(argv[1]), SANDBOX_OK);
    sandbox_handle_t* handle = create();
    CHECK_EQUAL(sandbox_write_file(handle, "/workspace/a", (const uint8_t*)"1", 1, 0, 0), 0);
    CHECK_EQUAL(sandbox_write_file(handle, "/workspace/b", (const uint8_t*)"22", 2, 0, 0), 0);
    run(handle);
    look(handle);
    list(handle);
    sandbox_cleanup();
    printf("ok\n");
    return 0;
}
