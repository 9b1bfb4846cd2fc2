#include "spec.hpp"

#include "text.hpp"

namespace sandbox {

Spec::Spec(uint64_t memory_mib, const std::string& template_name) : data_(new Data)
{
    data_->memory_mib = memory_mib;
    data_->template_name = whole(template_name, "Spec");
}

Spec::Spec(const Spec& other) : data_(new Data(*other.data_)) {}
Spec::~Spec() = default;

Spec& Spec::operator=(Spec other) noexcept
{
    data_.swap(other.data_);
    return *this;
}

Spec& Spec::vcpus(uint32_t n)
{
    data_->vcpus = n;
    return *this;
}

Spec& Spec::env(const std::string& key, const std::string& value)
{
    data_->env.push_back(variable(key, value, "Spec::env"));
    return *this;
}

Spec& Spec::pool_wait(uint32_t ms)
{
    data_->pool_wait_ms = ms;
    return *this;
}

Spec& Spec::session(const std::string& key)
{
    data_->session = whole(key, "Spec::session");
    return *this;
}

Spec& Spec::ttl(uint32_t seconds)
{
    data_->ttl_seconds = seconds;
    return *this;
}

Spec& Spec::allow_egress(const std::string& host)
{
    data_->egress.push_back(whole(host, "Spec::allow_egress"));
    return *this;
}

Spec& Spec::no_egress()
{
    data_->no_egress = true;
    return *this;
}

} // namespace sandbox
