#include <algorithm>
#include <utility>

#include "pieces.hpp"
#include "sandbox_grpc.hpp"

namespace sandbox::rpc {

Process::Process(std::unique_ptr<grpc::ClientContext> context, std::unique_ptr<Stream> stream)
    : context_(std::move(context)), stream_(std::move(stream)) {}

Process::~Process() {
    if (!stream_ || finished_) return;
    cancel();
    stream_->Finish();
}

void Process::cancel() noexcept {
    if (context_) context_->TryCancel();
}

bool Process::next(v1::ExecResponse& event) {
    if (finished_) return false;
    if (stream_->Read(&event)) return true;
    finish();
    return false;
}

void Process::finish() {
    finished_ = true;
    const grpc::Status status = stream_->Finish();
    if (!status.ok()) throw Error(status);
}

void Process::send(const v1::ExecRequest& request) {
    if (stream_->Write(request)) return;
    throw Error(grpc::Status(grpc::StatusCode::ABORTED, "the call has ended; next() says why"));
}

void Process::write(std::string_view data) {
    for_each_piece(data, [this](std::string_view piece) {
        v1::ExecRequest request;
        request.mutable_input()->set_data(piece.data(), piece.size());
        send(request);
    });
}

void Process::close_input() {
    v1::ExecRequest request;
    request.mutable_close_input();
    send(request);
}

v1::ExecExit Process::wait(const Sink& out, const Sink& err) {
    v1::ExecResponse event;
    v1::ExecExit exit;
    bool ended = false;
    while (next(event)) {
        if (event.has_out() && out) out(event.out().data());
        if (event.has_err() && err) err(event.err().data());
        if (event.has_exit()) {
            exit = event.exit();
            ended = true;
        }
    }
    if (ended) return exit;
    throw Error(grpc::Status(grpc::StatusCode::ABORTED, "the command's exit was not told"));
}

} // namespace sandbox::rpc
