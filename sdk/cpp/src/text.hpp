// What std::string can hold and a C string cannot.
#ifndef TEXT_HPP
#define TEXT_HPP

#include <string>
#include <vector>

#include <libsandbox.hpp>

namespace sandbox {

/** Throw for anything but SANDBOX_OK. */
inline void check(sandbox_error_t status, const char* call)
{
    if (status != SANDBOX_OK) {
        throw SandboxError(status, call);
    }
}

/** Text that C sees as a whole; a NUL would cut it short in silence. */
inline const std::string& whole(const std::string& text, const char* call)
{
    if (text.find('\0') != std::string::npos) {
        throw SandboxError(SANDBOX_ERR_INVALID_SPEC, call);
    }
    return text;
}

/** `KEY=VALUE`. */
inline std::string variable(const std::string& key, const std::string& value, const char* call)
{
    if (key.empty() || key.find('=') != std::string::npos) {
        throw SandboxError(SANDBOX_ERR_INVALID_SPEC, call);
    }
    return whole(key + "=" + value, call);
}

/** The same strings for C, NULL-terminated; valid as long as they are. */
inline std::vector<const char*> pointers(const std::vector<std::string>& strings)
{
    std::vector<const char*> found;
    found.reserve(strings.size() + 1);
    for (const std::string& text : strings) {
        found.push_back(text.c_str());
    }
    found.push_back(nullptr);
    return found;
}

} // namespace sandbox

#endif
