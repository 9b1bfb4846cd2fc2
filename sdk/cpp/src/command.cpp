#include "spec.hpp"
#include "text.hpp"

namespace sandbox {

Command::Command(const std::vector<std::string>& argv) : data_(new Data)
{
    for (const std::string& argument : argv) {
        data_->argv.push_back(whole(argument, "Command"));
    }
}

Command::Command(std::initializer_list<std::string> argv) : Command(std::vector<std::string>(argv))
{
}

Command::Command(const Command& other) : data_(new Data(*other.data_)) {}
Command::~Command() = default;

Command& Command::operator=(Command other) noexcept
{
    data_.swap(other.data_);
    return *this;
}

Command Command::shell(const std::string& script)
{
    Command command(std::vector<std::string>(1, script));
    command.data_->is_script = true;
    return command;
}

Command& Command::cwd(const std::string& path)
{
    data_->cwd = whole(path, "Command::cwd");
    return *this;
}

Command& Command::env(const std::string& key, const std::string& value)
{
    data_->env.push_back(variable(key, value, "Command::env"));
    return *this;
}

Command& Command::input(std::string_view bytes)
{
    data_->input = bytes;
    return *this;
}

Command& Command::timeout(uint32_t ms)
{
    data_->timeout_ms = ms;
    return *this;
}

Command& Command::max_output(uint64_t bytes)
{
    data_->max_output = bytes;
    return *this;
}

} // namespace sandbox
