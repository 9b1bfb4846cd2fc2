#include "guest.h"

#include <stdlib.h>
#include <string.h>

sandbox_error_t guest_begin(struct guest_call* call, const sandbox_handle_t* handle,
                            const char* path)
{
    memset(call, 0, sizeof *call);
    if (!handle || !path) {
        return SANDBOX_ERR_INVALID_SPEC;
    }
    call->client = client_acquire();
    if (!call->client) {
        return SANDBOX_ERR_DAEMON_UNREACHABLE;
    }
    call->message.request_case = CLIENT_MESSAGE_GUEST;
    call->request = &call->message.request.guest;
    sandbox_error_t status = client_find(call->client, handle, &call->request->sandbox_id);
    if (!status) {
        call->room = malloc(MAX_REPLY); /* here, so that the reading thread allocates nothing */
        status = call->room ? SANDBOX_OK : SANDBOX_ERR_INTERNAL;
    }
    if (status) {
        client_release(call->client);
    }
    return status;
}

sandbox_error_t guest_ask(struct guest_call* call, uint32_t operation)
{
    call->request->operation_case = operation;
    sandbox_error_t status = client_ask(call->client, &call->message, &guest_response_type,
                                        &call->response, call->room, MAX_REPLY);
    if (!status && call->response.result_case != operation) { /* they share their numbers */
        status = SANDBOX_ERR_INTERNAL;
    }
    return status;
}

void guest_end(struct guest_call* call)
{
    free(call->room);
    client_release(call->client);
}
