#include <cstdlib>
#include <utility>

#include "spec.hpp"
#include "text.hpp"

namespace sandbox {

namespace {

struct Free {
    void operator()(void* block) const noexcept { std::free(block); }
};

/** A result that is freed also when copying it throws. */
struct Result : sandbox_exec_result_t {
    Result() noexcept : sandbox_exec_result_t() {}
    Result(const Result&) = delete;
    Result& operator=(const Result&) = delete;
    ~Result() { sandbox_exec_result_free(this); }
};

std::string text_of(const uint8_t* data, size_t len)
{
    return std::string(reinterpret_cast<const char*>(data), len);
}

const uint8_t* bytes_of(std::string_view bytes)
{
    return reinterpret_cast<const uint8_t*>(bytes.data());
}

} // namespace

Sandbox::Sandbox(Sandbox&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), id_(other.id_)
{
}

Sandbox& Sandbox::operator=(Sandbox&& other) noexcept
{
    if (this != &other) {
        Sandbox ends(std::move(*this));
        handle_ = std::exchange(other.handle_, nullptr);
        id_ = other.id_;
    }
    return *this;
}

Sandbox::~Sandbox()
{
    if (handle_) {
        (void)sandbox_destroy(handle_); // one that fails is destroyed with the session
    }
}

void Sandbox::destroy()
{
    check(sandbox_destroy(handle_), "Sandbox::destroy");
    handle_ = nullptr;
}

void Sandbox::pause()
{
    check(sandbox_pause(handle_), "Sandbox::pause");
}

void Sandbox::resume()
{
    check(sandbox_resume(handle_), "Sandbox::resume");
}

sandbox_status_t Sandbox::inspect() const
{
    sandbox_status_t status = {};
    check(sandbox_inspect(handle_, &status), "Sandbox::inspect");
    return status;
}

ExecResult Sandbox::exec(const Command& command) const
{
    const Command::Data& data = *command.data_;
    std::vector<const char*> argv = pointers(data.argv), env = pointers(data.env);
    sandbox_exec_spec_t spec = {};
    spec.argv = argv.data();
    spec.cwd = data.cwd.empty() ? nullptr : data.cwd.c_str();
    spec.env = env.data();
    spec.stdin_data = bytes_of(data.input);
    spec.stdin_len = data.input.size();
    spec.timeout_ms = data.timeout_ms;
    spec.max_output = data.max_output;
    spec.flags = data.is_script ? SANDBOX_EXEC_SHELL : 0;
    Result result;
    check(sandbox_exec(handle_, &spec, &result), "Sandbox::exec");
    ExecResult ran;
    ran.exit_code = result.exit_code;
    ran.term_signal = result.term_signal;
    ran.timed_out = result.timed_out;
    ran.output_truncated = result.output_truncated;
    ran.duration_ms = result.duration_ms;
    ran.out = text_of(result.out, result.out_len);
    ran.out_total = result.out_total;
    ran.err = text_of(result.err, result.err_len);
    ran.err_total = result.err_total;
    return ran;
}

ExecResult Sandbox::shell(const std::string& script) const
{
    return exec(Command::shell(script));
}

std::string Sandbox::read_file(const std::string& path) const
{
    uint8_t* data = nullptr;
    size_t len = 0;
    const char* name = whole(path, "Sandbox::read_file").c_str();
    sandbox_error_t status = sandbox_read_file(handle_, name, &data, &len);
    std::unique_ptr<uint8_t, Free> owned(data);
    check(status, "Sandbox::read_file");
    return text_of(data, len);
}

void Sandbox::write_file(const std::string& path, std::string_view bytes, uint32_t mode,
                         uint32_t flags) const
{
    const char* name = whole(path, "Sandbox::write_file").c_str();
    check(sandbox_write_file(handle_, name, bytes_of(bytes), bytes.size(), mode, flags),
          "Sandbox::write_file");
}

Listing Sandbox::list_dir(const std::string& path) const
{
    Listing listing;
    sandbox_dirent_t* entries = nullptr;
    size_t count = 0;
    const char* name = whole(path, "Sandbox::list_dir").c_str();
    sandbox_error_t status =
        sandbox_list_dir(handle_, name, &entries, &count, &listing.truncated);
    std::unique_ptr<sandbox_dirent_t, Free> owned(entries);
    check(status, "Sandbox::list_dir");
    listing.entries.resize(count);
    for (size_t i = 0; i < count; i++) {
        listing.entries[i].name = entries[i].name;
        listing.entries[i].type = entries[i].type;
        listing.entries[i].size = entries[i].size;
        listing.entries[i].mtime = entries[i].mtime;
    }
    return listing;
}

sandbox_fstat_t Sandbox::stat(const std::string& path) const
{
    sandbox_fstat_t found = {};
    check(sandbox_stat(handle_, whole(path, "Sandbox::stat").c_str(), &found), "Sandbox::stat");
    return found;
}

void Sandbox::mkdir(const std::string& path, uint32_t mode, bool parents) const
{
    const char* name = whole(path, "Sandbox::mkdir").c_str();
    check(sandbox_mkdir(handle_, name, mode, parents), "Sandbox::mkdir");
}

void Sandbox::remove(const std::string& path, bool recursive) const
{
    const char* name = whole(path, "Sandbox::remove").c_str();
    check(sandbox_remove(handle_, name, recursive), "Sandbox::remove");
}

} // namespace sandbox
