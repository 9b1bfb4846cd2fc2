/* Commands. */
#include <stdlib.h>
#include <string.h>

#include "guest.h"
#include "sized.h"

static sandbox_error_t check(const sandbox_exec_spec_t* spec)
{
    if (!spec->argv || !spec->argv[0] || (spec->stdin_len && !spec->stdin_data) ||
        (spec->flags & ~SANDBOX_EXEC_SHELL)) {
        return SANDBOX_ERR_INVALID_SPEC;
    }
    return spec->stdin_len > SANDBOX_MAX_STDIN ? SANDBOX_ERR_TOO_LARGE : SANDBOX_OK;
}

static void put_exec(struct guest_exec_request* request, const sandbox_exec_spec_t* spec)
{
    request->cwd = pb_string(spec->cwd);
    request->argv = pb_strings(spec->argv);
    request->shell = (spec->flags & SANDBOX_EXEC_SHELL) != 0;
    request->env = pb_strings(spec->env);
    request->timeout_ms = spec->timeout_ms;
    request->max_output = spec->max_output;
    request->input.data = spec->stdin_data;
    request->input.len = spec->stdin_len;
}

static uint8_t* copy_of(struct pb_view view)
{
    uint8_t* copy = malloc(view.len + 1);
    if (copy) {
        if (view.len) {
            memcpy(copy, view.data, view.len);
        }
        copy[view.len] = 0;
    }
    return copy;
}

static sandbox_error_t take_result(sandbox_exec_result_t* result,
                                   const struct guest_exec_response* response)
{
    sandbox_exec_result_t taken = {
        .exit_code = response->exit_code,
        .term_signal = (int32_t)response->term_signal,
        .timed_out = response->timed_out,
        .output_truncated = response->output_truncated,
        .duration_ms = response->duration_ms,
        .out = copy_of(response->out),
        .out_len = response->out.len,
        .out_total = response->out_total,
        .err = copy_of(response->err),
        .err_len = response->err.len,
        .err_total = response->err_total,
    };
    if (!taken.out || !taken.err) {
        sandbox_exec_result_free(&taken);
        return SANDBOX_ERR_INTERNAL;
    }
    *result = taken;
    return SANDBOX_OK;
}

static sandbox_error_t run(const sandbox_handle_t* handle, const sandbox_exec_spec_t* spec,
                           sandbox_exec_result_t* result)
{
    struct guest_call call;
    sandbox_error_t status = check(spec);
    if (!status) {
        status = guest_begin(&call, handle, ""); /* no path that could be missing */
    }
    if (status) {
        return status;
    }
    put_exec(&call.request->operation.exec, spec);
    status = guest_ask(&call, GUEST_REQUEST_EXEC);
    if (!status) {
        status = take_result(result, &call.response.result.exec);
    }
    guest_end(&call);
    return status;
}

sandbox_error_t sandbox_exec_sized(sandbox_handle_t* handle, const sandbox_exec_spec_t* spec,
                                   size_t spec_size, sandbox_exec_result_t* out_result,
                                   size_t result_size)
{
    sandbox_exec_spec_t known;
    sandbox_exec_result_t result = {0};
    if (!out_result) {
        return SANDBOX_ERR_INVALID_SPEC;
    }
    sandbox_error_t status = SANDBOX_ERR_INVALID_SPEC;
    if (spec && sized_read(&known, sizeof known, spec, spec_size)) {
        status = run(handle, &known, &result);
    }
    sized_write(out_result, result_size, &result, sizeof result);
    return status;
}

sandbox_error_t sandbox_exec(sandbox_handle_t* handle, const sandbox_exec_spec_t* spec,
                             sandbox_exec_result_t* out_result)
{
    return sandbox_exec_sized(handle, spec, END_OF(sandbox_exec_spec_t, flags), out_result,
                              END_OF(sandbox_exec_result_t, err_total));
}

void sandbox_exec_result_free(sandbox_exec_result_t* result)
{
    if (result) {
        free(result->out);
        free(result->err);
        result->out = result->err = NULL; /* and not all of it: its size is the caller's */
        result->out_len = result->err_len = 0;
    }
}
