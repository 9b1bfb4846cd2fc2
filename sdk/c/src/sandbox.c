/* The life of a sandbox, and of a session volume. */
#include "client.h"
#include "sized.h"

enum { SMALL_REPLY = 512 };

static void put_spec(struct create_request* request, const sandbox_spec_t* spec)
{
    request->memory_mib = spec->memory_mib;
    request->vcpu_count = spec->vcpu_count;
    request->template_name = pb_string(spec->template_name);
    request->env_vars = pb_strings(spec->env_vars);
    request->pool_wait_ms = spec->pool_wait_ms;
    request->session_key = pb_string(spec->session_key);
    request->ttl_seconds = spec->ttl_seconds;
    request->egress_allow = pb_strings(spec->egress_allow);
    request->egress_deny_all = spec->egress_deny_all != 0;
}

sandbox_error_t sandbox_create_sized(const sandbox_spec_t* spec, size_t spec_size,
                                     sandbox_handle_t** out_handle)
{
    sandbox_spec_t known;
    if (out_handle) {
        *out_handle = NULL;
    }
    if (!spec || !out_handle || !sized_read(&known, sizeof known, spec, spec_size)) {
        return SANDBOX_ERR_INVALID_SPEC;
    }
    struct client* client = client_acquire();
    if (!client) {
        return SANDBOX_ERR_DAEMON_UNREACHABLE;
    }
    struct client_message message = {.request_case = CLIENT_MESSAGE_CREATE};
    put_spec(&message.request.create, &known);
    sandbox_error_t status = client_create(client, &message, out_handle);
    client_release(client);
    return status == SANDBOX_ERR_TOO_LARGE ? SANDBOX_ERR_INVALID_SPEC : status;
}

sandbox_error_t sandbox_create(const sandbox_spec_t* spec, sandbox_handle_t** out_handle)
{
    return sandbox_create_sized(spec, END_OF(sandbox_spec_t, egress_deny_all), out_handle);
}

/* Send a request about one sandbox, whose number goes to `*sandbox_id`, in `message`. */
static sandbox_error_t ask_about(const sandbox_handle_t* handle, struct client_message* message,
                                 uint32_t* sandbox_id, const struct pb_type* type, void* body)
{
    uint8_t room[SMALL_REPLY];
    if (!handle) {
        return SANDBOX_ERR_INVALID_SPEC;
    }
    struct client* client = client_acquire();
    if (!client) {
        return SANDBOX_ERR_DAEMON_UNREACHABLE;
    }
    sandbox_error_t status = client_find(client, handle, sandbox_id);
    if (!status) {
        status = client_ask(client, message, type, body, room, sizeof room);
    }
    client_release(client);
    return status;
}

sandbox_error_t sandbox_pause(sandbox_handle_t* handle)
{
    struct pause_response paused;
    struct client_message message = {.request_case = CLIENT_MESSAGE_PAUSE};
    return ask_about(handle, &message, &message.request.pause.sandbox_id, &pause_response_type,
                     &paused);
}

sandbox_error_t sandbox_resume(sandbox_handle_t* handle)
{
    struct resume_response resumed;
    struct client_message message = {.request_case = CLIENT_MESSAGE_RESUME};
    return ask_about(handle, &message, &message.request.resume.sandbox_id, &resume_response_type,
                     &resumed);
}

sandbox_error_t sandbox_inspect_sized(sandbox_handle_t* handle, sandbox_status_t* out_status,
                                      size_t status_size)
{
    struct inspect_response seen;
    struct client_message message = {.request_case = CLIENT_MESSAGE_INSPECT};
    if (!out_status) {
        return SANDBOX_ERR_INVALID_SPEC;
    }
    sandbox_error_t status =
        ask_about(handle, &message, &message.request.inspect.sandbox_id, &inspect_response_type,
                  &seen);
    if (!status) {
        sandbox_status_t known = {.sandbox_id = seen.sandbox_id,
                                  .is_running = seen.is_running,
                                  .uptime_ms = seen.uptime_ms,
                                  .memory_rss_mib = seen.memory_rss_mib,
                                  .page_faults = seen.page_faults};
        sized_write(out_status, status_size, &known, sizeof known);
    }
    return status;
}

sandbox_error_t sandbox_inspect(sandbox_handle_t* handle, sandbox_status_t* out_status)
{
    return sandbox_inspect_sized(handle, out_status, END_OF(sandbox_status_t, page_faults));
}

sandbox_error_t sandbox_destroy(sandbox_handle_t* handle)
{
    if (!handle) {
        return SANDBOX_ERR_INVALID_SPEC;
    }
    struct client* client = client_acquire();
    if (!client) {
        return SANDBOX_ERR_DAEMON_UNREACHABLE;
    }
    sandbox_error_t status = client_destroy(client, handle);
    client_release(client);
    return status;
}

uint32_t sandbox_handle_id(const sandbox_handle_t* handle)
{
    uint32_t sandbox_id = 0;
    struct client* client = client_acquire();
    if (client) {
        (void)client_find(client, handle, &sandbox_id);
        client_release(client);
    }
    return sandbox_id;
}

sandbox_error_t sandbox_session_renew(const char* session_key, uint32_t extra_seconds,
                                      uint64_t* out_expires_at)
{
    uint8_t room[SMALL_REPLY];
    struct session_renew_response renewed;
    struct client_message message = {.request_case = CLIENT_MESSAGE_SESSION_RENEW};
    if (!session_key) {
        return SANDBOX_ERR_INVALID_SPEC;
    }
    struct client* client = client_acquire();
    if (!client) {
        return SANDBOX_ERR_DAEMON_UNREACHABLE;
    }
    message.request.session_renew.session_key = pb_string(session_key);
    message.request.session_renew.extra_seconds = extra_seconds;
    sandbox_error_t status = client_ask(client, &message, &session_renew_response_type, &renewed,
                                        room, sizeof room);
    client_release(client);
    if (!status && out_expires_at) {
        *out_expires_at = renewed.expires_at;
    }
    return status == SANDBOX_ERR_TOO_LARGE ? SANDBOX_ERR_INVALID_SPEC : status;
}
