/*
 * Files in and out of a sandbox: `files [SOCKET [TEMPLATE]]`.
 */
#include <libsandbox.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Here every error is the end; the session and its sandbox go with the process. */
static void must(sandbox_error_t code, const char* what)
{
    if (code != SANDBOX_OK) {
        fprintf(stderr, "%s: %s\n", what, sandbox_error_string(code));
        exit(1);
    }
}

static void put(sandbox_handle_t* sandbox, const char* path, const char* text)
{
    must(sandbox_write_file(sandbox, path, (const uint8_t*)text, strlen(text), 0,
                            SANDBOX_WRITE_PARENTS),
         path);
}

static void list(sandbox_handle_t* sandbox, const char* path)
{
    sandbox_dirent_t* entries;
    size_t count;
    bool truncated;
    must(sandbox_list_dir(sandbox, path, &entries, &count, &truncated), path);
    for (size_t i = 0; i < count; i++) {
        printf("%s: %llu bytes\n", entries[i].name, (unsigned long long)entries[i].size);
    }
    if (truncated) {
        printf("and more\n");
    }
    free(entries);
}

int main(int argc, char** argv)
{
    sandbox_handle_t* sandbox;
    sandbox_spec_t spec = {0};
    spec.template_name = argc > 2 ? argv[2] : "base";
    spec.pool_wait_ms = 60000;
    must(sandbox_init(argc > 1 ? argv[1] : NULL), "sandbox_init");
    must(sandbox_create(&spec, &sandbox), "sandbox_create");

    put(sandbox, "/workspace/in/words", "one\ntwo\nthree\n");

    const char* script[] = {"sort in/words > sorted", NULL};
    sandbox_exec_spec_t command = {0};
    command.argv = script;
    command.flags = SANDBOX_EXEC_SHELL;
    sandbox_exec_result_t result;
    must(sandbox_exec(sandbox, &command, &result), "sandbox_exec");
    sandbox_exec_result_free(&result);

    list(sandbox, "/workspace/in");

    uint8_t* data;
    size_t len;
    must(sandbox_read_file(sandbox, "/workspace/sorted", &data, &len), "sandbox_read_file");
    fwrite(data, 1, len, stdout);
    free(data);

    sandbox_error_t err = sandbox_read_file(sandbox, "/etc/passwd", &data, &len);
    printf("/etc/passwd: %s\n", sandbox_error_string(err));

    sandbox_cleanup();
    return 0;
}
