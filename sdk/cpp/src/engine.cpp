#include <mutex>

#include "spec.hpp"
#include "text.hpp"

namespace sandbox {

namespace {

// The C library has one session a process; it lives as long as any Engine does.
std::mutex session;
unsigned engines = 0;

} // namespace

Engine::Engine(const std::string& sock)
{
    std::lock_guard<std::mutex> guard(session);
    check(sandbox_init(whole(sock, "Engine").c_str()), "Engine");
    ++engines;
}

Engine::~Engine()
{
    std::lock_guard<std::mutex> guard(session);
    if (--engines == 0) {
        sandbox_cleanup();
    }
}

std::unique_ptr<Sandbox> Engine::create(const Spec& spec)
{
    const Spec::Data& data = *spec.data_;
    std::vector<const char*> env = pointers(data.env), hosts = pointers(data.egress);
    sandbox_spec_t wanted = {};
    wanted.memory_mib = data.memory_mib;
    wanted.vcpu_count = data.vcpus;
    wanted.template_name = data.template_name.c_str();
    wanted.env_vars = env.data();
    wanted.pool_wait_ms = data.pool_wait_ms;
    wanted.session_key = data.session.empty() ? nullptr : data.session.c_str();
    wanted.ttl_seconds = data.ttl_seconds;
    wanted.egress_allow = data.egress.empty() ? nullptr : hosts.data();
    wanted.egress_deny_all = data.no_egress;
    std::unique_ptr<Sandbox> made(new Sandbox); // before there is anything that could be lost
    check(sandbox_create(&wanted, &made->handle_), "Engine::create");
    made->id_ = sandbox_handle_id(made->handle_);
    return made;
}

uint64_t Engine::renew(const std::string& session_key, uint32_t extra_seconds)
{
    const char* key = whole(session_key, "Engine::renew").c_str();
    uint64_t expires_at = 0;
    check(sandbox_session_renew(key, extra_seconds, &expires_at), "Engine::renew");
    return expires_at;
}

} // namespace sandbox
