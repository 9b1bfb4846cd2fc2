/*
 * C++17 over gRPC: a thin layer over the generated client of sandbox-engine.
 *
 * Connect, create, run with live output, files, fork, close.  Everything else is on
 * Client::sandboxes() and Client::guests(), or one `v1::...Service::NewStub(client.channel())`
 * away.  libsandbox++ is the other way to an engine: blocking calls over the frame socket, with
 * nothing but libc below it.
 *
 * What can fail throws sandbox::rpc::Error, which carries the reason of errors.proto.  What is
 * acquired is released by destructors, which never throw.  A Client may be used from any number
 * of threads.
 */
#ifndef SANDBOX_GRPC_HPP
#define SANDBOX_GRPC_HPP

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "sandbox/v1/guest.grpc.pb.h"
#include "sandbox/v1/sandboxes.grpc.pb.h"

#define SANDBOX_GRPC_VERSION "0.1.0"

namespace sandbox::rpc {

/** A call that failed; what() names the reason. */
class Error : public std::runtime_error {
public:
    explicit Error(const grpc::Status& status);

    grpc::StatusCode code() const noexcept { return code_; }
    /** A name of errors.proto without ERROR_REASON_; empty where the engine gave none. */
    const std::string& reason() const noexcept { return reason_; }
    const std::string& domain() const noexcept { return domain_; }
    const std::map<std::string, std::string>& metadata() const noexcept { return metadata_; }

private:
    grpc::StatusCode code_;
    std::string reason_, domain_;
    std::map<std::string, std::string> metadata_;
};

/** How a call ends early.  No deadline unless `timeout` is more than 0. */
struct CallOptions {
    std::chrono::milliseconds timeout{0};
};

struct ConnectOptions {
    std::string token; /**< sent as a bearer token with every call */
    std::shared_ptr<grpc::ChannelCredentials> credentials; /**< without them no TLS */
};

/** What a command came to, with all it wrote. */
struct Result {
    std::string out, err;
    v1::ExecExit exit;
};

/**
 * A command that runs.  One thread may read while another writes.  Destroying it before the
 * exit was read ends the call, which kills the command.
 */
class Process {
public:
    using Sink = std::function<void(std::string_view)>;

    Process(Process&&) noexcept = default;
    Process& operator=(Process&&) = delete;
    Process(const Process&) = delete;
    ~Process();

    /** Wait for what comes next: started, output of either kind, the exit.  False behind it. */
    bool next(v1::ExecResponse& event);
    /** Send input, in pieces; throws where the call has ended. */
    void write(std::string_view data);
    /** End the input; output goes on. */
    void close_input();
    /** Hand on outputs as they come until the command has ended; an empty sink drops them. */
    v1::ExecExit wait(const Sink& out = {}, const Sink& err = {});
    /** End the call: a command that still runs is killed.  From any thread. */
    void cancel() noexcept;

private:
    friend class Sandbox;
    using Stream = grpc::ClientReaderWriter<v1::ExecRequest, v1::ExecResponse>;
    Process(std::unique_ptr<grpc::ClientContext> context, std::unique_ptr<Stream> stream);
    void send(const v1::ExecRequest& request);
    void finish();

    std::unique_ptr<grpc::ClientContext> context_;
    std::unique_ptr<Stream> stream_;
    bool finished_ = false;
};

class Sandbox;

/** One connection, shared by its copies and by what it made.  Its end ends no sandbox. */
class Client {
public:
    /** To `unix:/path/of/grpc.sock` or `host:port`.  The first call dials. */
    explicit Client(const std::string& target, const ConnectOptions& options = {});

    /** Make a sandbox, which is destroyed with its object. */
    Sandbox create(const v1::CreateSandboxRequest& request, CallOptions options = {}) const;
    /** A handle of a sandbox that exists; it costs no call and destroys nothing. */
    Sandbox sandbox(const std::string& id) const;
    /** What the engine says of a sandbox. */
    v1::Sandbox get(const std::string& id, CallOptions options = {}) const;

    const std::shared_ptr<grpc::Channel>& channel() const noexcept;
    v1::SandboxService::Stub& sandboxes() const noexcept;
    v1::GuestService::Stub& guests() const noexcept;
    /** A context for a call on the stubs: with the token, and the deadline if there is one. */
    std::unique_ptr<grpc::ClientContext> context(CallOptions options = {}) const;

private:
    struct Connection;
    std::shared_ptr<const Connection> connection_;
};

/** One sandbox; destroyed with its object where create() or fork() made it. */
class Sandbox {
public:
    Sandbox(Sandbox&& other) noexcept;
    Sandbox& operator=(Sandbox&&) = delete;
    Sandbox(const Sandbox&) = delete;
    ~Sandbox();

    const std::string& id() const noexcept { return id_; }
    /** What the engine said when it was made; empty in a handle from Client::sandbox(). */
    const v1::Sandbox& info() const noexcept { return info_; }

    /** Start a command; `start.input` says whether it gets input. */
    Process exec(v1::ExecStart start, CallOptions options = {}) const;
    /** Run a shell script to its end and collect both outputs. */
    Result run(const std::string& script, CallOptions options = {}) const;
    std::string read_file(const std::string& path, CallOptions options = {}) const;
    /** Write a whole file and make its parents. */
    void write_file(const std::string& path, std::string_view data, CallOptions options = {}) const;
    /** Children that begin as copies of this sandbox, memory included. */
    std::vector<Sandbox> fork(v1::ForkSandboxRequest request, CallOptions options = {}) const;

    /** Destroy it here, to learn whether that worked; one that is gone already is no error. */
    void close();
    /** Leave it to its lease: the object's end does not destroy it any more. */
    void keep() noexcept { owned_ = false; }

private:
    friend class Client;
    Sandbox(Client client, v1::Sandbox info);
    Sandbox(Client client, std::string id);

    Client client_;
    std::string id_;
    v1::Sandbox info_;
    bool owned_ = false;
};

} // namespace sandbox::rpc

#endif // SANDBOX_GRPC_HPP
