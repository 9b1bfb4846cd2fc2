/*
 * libsandbox++: C++17 over libsandbox.  Link with -lsandbox++.
 *
 * What can fail throws sandbox::SandboxError, which carries the sandbox_error_t that libsandbox.h
 * explains call by call.  What is acquired is released by destructors, which never throw.  All of
 * it may be used from any number of threads; one object must not be changed (moved, destroyed,
 * configured) in one thread while another uses it.
 *
 * Objects hide what they hold, so that the library can grow behind them; the plain structs are
 * part of the ABI and do not change as long as the library is libsandbox++.so.0.
 *
 * A process has one session (see libsandbox.h, also about fork()).  A program that uses the C
 * library beside this one shares it.
 */
#ifndef LIBSANDBOX_HPP
#define LIBSANDBOX_HPP

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <libsandbox.h>

namespace sandbox {

/** A call that did not come to SANDBOX_OK; what() names the call and the reason. */
class SANDBOX_API SandboxError : public std::runtime_error {
public:
    SandboxError(sandbox_error_t code, const std::string& call);
    SandboxError(const SandboxError&) noexcept = default;
    SandboxError& operator=(const SandboxError&) noexcept = default;
    ~SandboxError() override;

    sandbox_error_t code() const noexcept { return code_; }

private:
    sandbox_error_t code_;
};

/**
 * What to create: `Spec(512, "base").vcpus(2).env("K", "V")`.
 *
 * The setters throw SandboxError with SANDBOX_ERR_INVALID_SPEC for text with a NUL in it.
 */
class SANDBOX_API Spec {
public:
    /** @param memory_mib  guest memory in MiB; the template's, or 0 */
    Spec(uint64_t memory_mib, const std::string& template_name);
    Spec(const Spec&);
    Spec& operator=(Spec) noexcept;
    ~Spec();

    /** Number of vCPUs; without it the template's. */
    Spec& vcpus(uint32_t n);
    /** A variable of every command; the key has no `=` in it. */
    Spec& env(const std::string& key, const std::string& value);
    /** Longest wait for a warm virtual machine; without it an empty pool fails at once. */
    Spec& pool_wait(uint32_t ms);
    /** Key of a persistent /workspace; without it the files die with the sandbox. */
    Spec& session(const std::string& key);
    /** Lifetime of that volume; without it the platform's default. */
    Spec& ttl(uint32_t seconds);
    /** A host that may be reached, and no other but those added likewise. */
    Spec& allow_egress(const std::string& host);
    /** Nothing may be reached. */
    Spec& no_egress();

private:
    friend class Engine;
    struct Data;
    std::unique_ptr<Data> data_;
};

/**
 * What to run: `Command{"ls", "-l"}.cwd("/workspace/src")` or `Command::shell("ls | wc -l")`.
 *
 * The setters throw SandboxError with SANDBOX_ERR_INVALID_SPEC for text with a NUL in it.
 */
class SANDBOX_API Command {
public:
    Command(std::initializer_list<std::string> argv);
    Command(const std::vector<std::string>& argv); // NOLINT: implicit, as exec(argv) reads
    Command(const Command&);
    Command& operator=(Command) noexcept;
    ~Command();

    /** A script for `/bin/sh -c`. */
    static Command shell(const std::string& script);

    /** Working directory; without it /workspace. */
    Command& cwd(const std::string& path);
    /** A variable, on top of the sandbox's; the key has no `=` in it. */
    Command& env(const std::string& key, const std::string& value);
    /** What it reads: any bytes, up to 64 KiB; without it end of file at once. */
    Command& input(std::string_view bytes);
    /** Killed after this; without it after an hour. */
    Command& timeout(uint32_t ms);
    /** Killed when a stream has more bytes; without it 4 MiB. */
    Command& max_output(uint64_t bytes);

private:
    friend class Sandbox;
    struct Data;
    std::unique_ptr<Data> data_;
};

/** What a command came to; a head of each stream, and how much there was. */
struct ExecResult {
    int32_t exit_code = 0;         /**< the status it exited with, or 128 + term_signal */
    int32_t term_signal = 0;       /**< the signal that ended it, or 0 */
    bool timed_out = false;        /**< it was killed at its timeout */
    bool output_truncated = false; /**< it was killed by the output cap */
    uint64_t duration_ms = 0;      /**< from start to end, as the guest measured it */
    std::string out;               /**< at most 32 KiB of standard output */
    uint64_t out_total = 0;        /**< bytes that it wrote there */
    std::string err;               /**< at most 16 KiB of standard error */
    uint64_t err_total = 0;        /**< bytes that it wrote there */
};

/** One entry of a directory. */
struct DirEntry {
    std::string name;
    sandbox_file_type_t type = SANDBOX_FILE_UNKNOWN; /**< links are not followed */
    uint64_t size = 0;
    int64_t mtime = 0; /**< last change of content, seconds since 1970 */
};

/** A directory's entries. */
struct Listing {
    std::vector<DirEntry> entries;
    bool truncated = false; /**< there are more than fit a reply */
};

/**
 * A sandbox; destroyed with its object.  One that was moved from or destroy()ed answers every
 * call with SANDBOX_ERR_INVALID_SPEC, one whose Engine is gone with another error.
 */
class SANDBOX_API Sandbox {
public:
    Sandbox(Sandbox&& other) noexcept;
    Sandbox& operator=(Sandbox&& other) noexcept;
    Sandbox(const Sandbox&) = delete;
    Sandbox& operator=(const Sandbox&) = delete;
    ~Sandbox();

    void pause();
    void resume();
    sandbox_status_t inspect() const;
    /** The daemon's number for it; stays known after the end. */
    uint32_t id() const noexcept { return id_; }
    /** End it here, to learn whether that worked. */
    void destroy();

    /** Run a command to its end; a non-zero exit, a timeout and a kill are results. */
    ExecResult exec(const Command& command) const;
    /** exec(Command::shell(script)) */
    ExecResult shell(const std::string& script) const;

    /** A whole file, at most 4 MiB of any bytes. */
    std::string read_file(const std::string& path) const;
    /** @param flags  SANDBOX_WRITE_EXCL, SANDBOX_WRITE_APPEND, SANDBOX_WRITE_PARENTS */
    void write_file(const std::string& path, std::string_view bytes, uint32_t mode = 0,
                    uint32_t flags = 0) const;
    Listing list_dir(const std::string& path) const;
    sandbox_fstat_t stat(const std::string& path) const;
    void mkdir(const std::string& path, uint32_t mode = 0, bool parents = false) const;
    void remove(const std::string& path, bool recursive = false) const;

private:
    friend class Engine;
    Sandbox() noexcept = default;
    sandbox_handle_t* handle_ = nullptr;
    uint32_t id_ = 0;
};

/**
 * The session to the daemon.  Objects of one process share it; it closes, and destroys what is
 * left of its sandboxes, with the last of them.
 */
class SANDBOX_API Engine {
public:
    explicit Engine(const std::string& sock = SANDBOX_DEFAULT_SOCKET);
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;
    ~Engine();

    std::unique_ptr<Sandbox> create(const Spec& spec);
    /** Extend the life of a session volume; its new end in seconds since 1970. */
    uint64_t renew(const std::string& session_key, uint32_t extra_seconds);
};

} // namespace sandbox

#endif // LIBSANDBOX_HPP
