#include "libsandbox.h"

static const char* const meanings[] = {
    [-SANDBOX_OK] = "success",
    [-SANDBOX_ERR_POOL_EXHAUSTED] = "no warm virtual machine in time, or a cap was reached",
    [-SANDBOX_ERR_INVALID_SPEC] = "unknown template or invalid value",
    [-SANDBOX_ERR_DAEMON_UNREACHABLE] = "the daemon cannot be reached",
    [-SANDBOX_ERR_PERMISSION_DENIED] = "permission denied",
    [-SANDBOX_ERR_INTERNAL] = "unexpected failure",
    [-SANDBOX_ERR_SESSION_EXPIRED] = "the session's lifetime has passed",
    [-SANDBOX_ERR_SESSION_LIMIT] = "the session already has the longest lifetime allowed",
    [-SANDBOX_ERR_SESSION_UNKNOWN] = "no volume exists for the session key",
    [-SANDBOX_ERR_GUEST_UNAVAILABLE] = "the guest is not ready or is busy; try again",
    [-SANDBOX_ERR_PATH_DENIED] = "the path is not absolute or leaves /workspace",
    [-SANDBOX_ERR_NOT_FOUND] = "no such path",
    [-SANDBOX_ERR_EXISTS] = "the path exists",
    [-SANDBOX_ERR_TOO_LARGE] = "over the size limit",
    [-SANDBOX_ERR_GUEST_IO] = "the guest's filesystem failed the operation",
    [-SANDBOX_ERR_TIMEOUT] = "the guest did not answer in time",
};

const char* sandbox_error_string(sandbox_error_t code)
{
    long value = (long)code; /* may be none of the enum's */
    long count = (long)(sizeof meanings / sizeof meanings[0]);
    return value <= 0 && value > -count ? meanings[-value] : "unknown error";
}
