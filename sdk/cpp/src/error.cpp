#include <libsandbox.hpp>

namespace sandbox {

SandboxError::SandboxError(sandbox_error_t code, const std::string& call)
    : std::runtime_error(call + ": " + sandbox_error_string(code)), code_(code)
{
}

SandboxError::~SandboxError() = default; // here, so that its type information is in one place

} // namespace sandbox
