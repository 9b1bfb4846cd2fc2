// What the two builders hold.
#ifndef SPEC_HPP
#define SPEC_HPP

#include <string>
#include <vector>

#include <libsandbox.hpp>

namespace sandbox {

struct Spec::Data {
    uint64_t memory_mib = 0;
    uint32_t vcpus = 0;
    std::string template_name;
    std::vector<std::string> env;
    uint32_t pool_wait_ms = 0;
    std::string session;
    uint32_t ttl_seconds = 0;
    std::vector<std::string> egress;
    bool no_egress = false;
};

struct Command::Data {
    std::vector<std::string> argv;
    bool is_script = false;
    std::string cwd;
    std::vector<std::string> env;
    std::string input;
    uint32_t timeout_ms = 0;
    uint64_t max_output = 0;
};

} // namespace sandbox

#endif
