/*
 * A command in a sandbox: `hello [SOCKET [TEMPLATE]]`.
 */
#include <libsandbox.h>

#include <stdio.h>

static int fail(const char* what, sandbox_error_t code)
{
    fprintf(stderr, "%s: %s\n", what, sandbox_error_string(code));
    sandbox_cleanup();
    return 1;
}

int main(int argc, char** argv)
{
    sandbox_error_t err = sandbox_init(argc > 1 ? argv[1] : NULL);
    if (err != SANDBOX_OK) {
        return fail("sandbox_init", err);
    }

    const char* env[] = {"GREETING=hello", NULL};
    sandbox_spec_t spec = {0};
    spec.template_name = argc > 2 ? argv[2] : "base";
    spec.env_vars = env;
    spec.pool_wait_ms = 60000;
    sandbox_handle_t* sandbox;
    err = sandbox_create(&spec, &sandbox);
    if (err != SANDBOX_OK) {
        return fail("sandbox_create", err);
    }

    const char* script[] = {"echo $GREETING from the guest; exit 3", NULL};
    sandbox_exec_spec_t command = {0};
    command.argv = script;
    command.flags = SANDBOX_EXEC_SHELL;
    sandbox_exec_result_t result;
    err = sandbox_exec(sandbox, &command, &result);
    if (err != SANDBOX_OK) {
        return fail("sandbox_exec", err);
    }
    printf("it said: %s", (const char*)result.out);
    printf("it exited with %d\n", result.exit_code);
    sandbox_exec_result_free(&result);

    sandbox_destroy(sandbox);
    sandbox_cleanup();
    return 0;
}
