/* The pieces that bytes are sent in. */
#ifndef SANDBOX_GRPC_PIECES_HPP
#define SANDBOX_GRPC_PIECES_HPP

#include <string_view>

namespace sandbox::rpc {

/** The most bytes that one message of a file or of input carries. */
constexpr size_t kPiece = 64 << 10;

template <typename Take>
void for_each_piece(std::string_view data, Take take) {
    for (size_t at = 0; at < data.size(); at += kPiece) take(data.substr(at, kPiece));
}

} // namespace sandbox::rpc

#endif // SANDBOX_GRPC_PIECES_HPP
