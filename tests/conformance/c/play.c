/*
 * Plays the part of `scenario.yaml` that libsandbox can; see `c:` there.
 */
#include <libsandbox.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN (1u << 20)
#define SHA256 "f6a34d4c79c3d12c297589206bf216b084347471a53ea5e7fe9a46bd1230f098"

static const char* step = "create";

static void check(int holds, const char* what, long seen)
{
    if (!holds) {
        printf("fail %s: %s (%ld)\n", step, what, seen);
        sandbox_cleanup(); /* the sandbox goes with the session */
        exit(1);
    }
}

static void passed(const char* next)
{
    printf("ok %s\n", step);
    fflush(stdout);
    step = next;
}

static sandbox_exec_result_t run(sandbox_handle_t* sandbox, const char* script, const char* input,
                                 uint32_t timeout_ms)
{
    const char* argv[] = {script, NULL};
    sandbox_exec_spec_t spec = {0};
    sandbox_exec_result_t result;
    spec.argv = argv;
    spec.flags = SANDBOX_EXEC_SHELL;
    spec.stdin_data = (const uint8_t*)input;
    spec.stdin_len = input != NULL ? strlen(input) : 0;
    spec.timeout_ms = timeout_ms;
    sandbox_error_t code = sandbox_exec(sandbox, &spec, &result);
    check(code == SANDBOX_OK, "sandbox_exec", code);
    return result;
}

static void live_exec(sandbox_handle_t* sandbox)
{
    sandbox_exec_result_t done = run(
        sandbox, "echo first; read line; echo \"got $line\"; echo problem >&2; exit 7",
        "second\n", 0);
    check(strcmp((char*)done.out, "first\ngot second\n") == 0, "standard output", 0);
    check(strcmp((char*)done.err, "problem\n") == 0, "standard error", 0);
    check(done.exit_code == 7, "exit code", done.exit_code);
    check(done.term_signal == 0 && !done.timed_out && !done.output_truncated, "end", 0);
    check(done.out_total == 17 && done.err_total == 8, "totals", (long)done.out_total);
    sandbox_exec_result_free(&done);
}

static void binary(sandbox_handle_t* sandbox)
{
    static uint8_t pattern[PATTERN];
    for (uint32_t i = 0; i < PATTERN; i++) {
        pattern[i] = (uint8_t)(i * 31 + (i >> 8));
    }
    const char* path = "/workspace/in/pattern";
    sandbox_error_t code =
        sandbox_write_file(sandbox, path, pattern, PATTERN, 0, SANDBOX_WRITE_PARENTS);
    check(code == SANDBOX_OK, "sandbox_write_file", code);
    sandbox_exec_result_t sum = run(sandbox, "sha256sum </workspace/in/pattern", NULL, 0);
    check(strncmp((char*)sum.out, SHA256, 64) == 0, "sha256", sum.exit_code);
    sandbox_exec_result_free(&sum);
    uint8_t* data;
    size_t len;
    code = sandbox_read_file(sandbox, path, &data, &len);
    check(code == SANDBOX_OK, "sandbox_read_file", code);
    check(len == PATTERN && memcmp(data, pattern, len) == 0, "the file", (long)len);
    free(data);
}

static void error(sandbox_handle_t* sandbox)
{
    uint8_t* data;
    size_t len;
    sandbox_error_t code = sandbox_read_file(sandbox, "/workspace/missing", &data, &len);
    check(code == SANDBOX_ERR_NOT_FOUND, "a missing file", code);
    sandbox_handle_t* none;
    sandbox_spec_t spec = {0};
    spec.template_name = "no-such-template";
    code = sandbox_create(&spec, &none);
    check(code == SANDBOX_ERR_INVALID_SPEC, "a missing template", code);
}

static void cancel(sandbox_handle_t* sandbox)
{
    sandbox_exec_result_t done = run(sandbox, "exec sleep 4321", NULL, 1000);
    check(done.timed_out, "timed out", done.exit_code);
    sandbox_exec_result_free(&done);
    /* The result is told once the command's whole group is gone. */
    done = run(sandbox,
               "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c '[s]leep 4321'",
               NULL, 0);
    check(strcmp((char*)done.out, "0\n") == 0, "processes left", done.exit_code);
    sandbox_exec_result_free(&done);
}

int main(void)
{
    sandbox_handle_t* sandbox;
    sandbox_spec_t spec = {0};
    spec.template_name = "base";
    spec.pool_wait_ms = 120000;
    sandbox_error_t code = sandbox_init(getenv("SANDBOX_SOCKET"));
    check(code == SANDBOX_OK, "sandbox_init", code);
    code = sandbox_create(&spec, &sandbox);
    check(code == SANDBOX_OK, "sandbox_create", code);
    check(sandbox_handle_id(sandbox) != 0, "sandbox_handle_id", 0);
    passed("live_exec");
    live_exec(sandbox);
    passed("binary");
    binary(sandbox);
    passed("error");
    error(sandbox);
    passed("cancel");
    cancel(sandbox);
    passed("");
    code = sandbox_destroy(sandbox);
    check(code == SANDBOX_OK, "sandbox_destroy", code);
    sandbox_cleanup();
    return 0;
}
