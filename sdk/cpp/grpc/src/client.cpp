#include <utility>

#include "pieces.hpp"
#include "sandbox_grpc.hpp"

namespace sandbox::rpc {
namespace {

void check(const grpc::Status& status) {
    if (!status.ok()) throw Error(status);
}

} // namespace

struct Client::Connection {
    std::string token;
    std::shared_ptr<grpc::Channel> channel;
    std::unique_ptr<v1::SandboxService::Stub> sandboxes;
    std::unique_ptr<v1::GuestService::Stub> guests;
};

Client::Client(const std::string& target, const ConnectOptions& options) {
    auto connection = std::make_shared<Connection>();
    connection->token = options.token;
    connection->channel = grpc::CreateChannel(
        target, options.credentials ? options.credentials : grpc::InsecureChannelCredentials());
    connection->sandboxes = v1::SandboxService::NewStub(connection->channel);
    connection->guests = v1::GuestService::NewStub(connection->channel);
    connection_ = std::move(connection);
}

const std::shared_ptr<grpc::Channel>& Client::channel() const noexcept {
    return connection_->channel;
}

v1::SandboxService::Stub& Client::sandboxes() const noexcept { return *connection_->sandboxes; }

v1::GuestService::Stub& Client::guests() const noexcept { return *connection_->guests; }

std::unique_ptr<grpc::ClientContext> Client::context(CallOptions options) const {
    auto made = std::make_unique<grpc::ClientContext>();
    /* Not call credentials: gRPC sends those over TLS only, and a Unix socket has none. */
    if (!connection_->token.empty())
        made->AddMetadata("authorization", "Bearer " + connection_->token);
    if (options.timeout.count() > 0)
        made->set_deadline(std::chrono::system_clock::now() + options.timeout);
    return made;
}

Sandbox Client::create(const v1::CreateSandboxRequest& request, CallOptions options) const {
    v1::CreateSandboxResponse made;
    check(sandboxes().CreateSandbox(context(options).get(), request, &made));
    return Sandbox(*this, made.sandbox());
}

Sandbox Client::sandbox(const std::string& id) const { return Sandbox(*this, id); }

v1::Sandbox Client::get(const std::string& id, CallOptions options) const {
    v1::GetSandboxRequest request;
    v1::GetSandboxResponse found;
    request.set_sandbox_id(id);
    check(sandboxes().GetSandbox(context(options).get(), request, &found));
    return found.sandbox();
}

Sandbox::Sandbox(Client client, v1::Sandbox info)
    : client_(std::move(client)), id_(info.id()), info_(std::move(info)), owned_(true) {}

Sandbox::Sandbox(Client client, std::string id) : client_(std::move(client)), id_(std::move(id)) {}

Sandbox::Sandbox(Sandbox&& other) noexcept
    : client_(other.client_),
      id_(std::move(other.id_)),
      info_(std::move(other.info_)),
      owned_(std::exchange(other.owned_, false)) {}

Sandbox::~Sandbox() {
    if (!owned_) return;
    try {
        close();
    } catch (const std::exception&) { /* its lease ends it */
    }
}

void Sandbox::close() {
    v1::DestroySandboxRequest request;
    v1::DestroySandboxResponse gone;
    request.set_sandbox_id(id_);
    request.set_allow_missing(true);
    check(client_.sandboxes().DestroySandbox(client_.context().get(), request, &gone));
    owned_ = false;
}

Process Sandbox::exec(v1::ExecStart start, CallOptions options) const {
    start.set_sandbox_id(id_);
    v1::ExecRequest request;
    *request.mutable_start() = std::move(start);
    auto context = client_.context(options);
    auto stream = client_.guests().Exec(context.get());
    Process process(std::move(context), std::move(stream));
    if (!process.stream_->Write(request)) {
        v1::ExecResponse nothing;
        while (process.next(nothing)) continue;
    }
    return process;
}

Result Sandbox::run(const std::string& script, CallOptions options) const {
    v1::ExecStart start;
    start.add_argv(script);
    start.set_shell(true);
    Result result;
    result.exit = exec(std::move(start), options)
                      .wait([&](std::string_view data) { result.out += data; },
                            [&](std::string_view data) { result.err += data; });
    return result;
}

std::string Sandbox::read_file(const std::string& path, CallOptions options) const {
    v1::ReadFileRequest request;
    request.set_sandbox_id(id_);
    request.set_path(path);
    const auto context = client_.context(options);
    const auto stream = client_.guests().ReadFile(context.get(), request);
    std::string data;
    v1::ReadFileResponse piece;
    while (stream->Read(&piece)) data += piece.data();
    check(stream->Finish());
    return data;
}

void Sandbox::write_file(const std::string& path, std::string_view data,
                         CallOptions options) const {
    v1::WriteFileResponse written;
    const auto context = client_.context(options);
    const auto stream = client_.guests().WriteFile(context.get(), &written);
    v1::WriteFileRequest request;
    request.mutable_start()->set_sandbox_id(id_);
    request.mutable_start()->set_path(path);
    request.mutable_start()->set_parents(true);
    /* Where a write fails, the call has ended, and Finish() says why. */
    bool open = stream->Write(request);
    for_each_piece(data, [&](std::string_view piece) {
        if (!open) return;
        request.set_data(piece.data(), piece.size());
        open = stream->Write(request);
    });
    if (open) {
        request.mutable_done();
        stream->Write(request);
    }
    stream->WritesDone();
    check(stream->Finish());
}

std::vector<Sandbox> Sandbox::fork(v1::ForkSandboxRequest request, CallOptions options) const {
    request.set_sandbox_id(id_);
    if (request.count() == 0) request.set_count(1);
    v1::ForkSandboxResponse made;
    check(client_.sandboxes().ForkSandbox(client_.context(options).get(), request, &made));
    std::vector<Sandbox> children;
    children.reserve(static_cast<size_t>(made.children_size()));
    for (const v1::ForkedSandbox& child : made.children())
        children.push_back(Sandbox(client_, child.sandbox()));
    return children;
}

} // namespace sandbox::rpc
