#include "sandbox_grpc.hpp"

#include <utility>

#include <google/protobuf/unknown_field_set.h>

namespace sandbox::rpc {
namespace {

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

/* google.rpc.Status and ErrorInfo by their numbers: the classes are in no package of Debian's. */
constexpr int kDetails = 3, kTypeUrl = 1, kValue = 2;
constexpr int kReason = 1, kDomain = 2, kMetadata = 3, kMapKey = 1, kMapValue = 2;
constexpr std::string_view kErrorInfo = "google.rpc.ErrorInfo";

/** The fields of a message that hold bytes, by number. */
using Fields = std::vector<std::pair<int, std::string>>;

Fields parse(const std::string& bytes) {
    UnknownFieldSet read;
    Fields fields;
    if (!read.ParseFromString(bytes)) return fields;
    for (int at = 0; at < read.field_count(); ++at) {
        const UnknownField& field = read.field(at);
        if (field.type() == UnknownField::TYPE_LENGTH_DELIMITED)
            fields.emplace_back(field.number(), field.length_delimited());
    }
    return fields;
}

std::vector<std::string> all(const Fields& fields, int number) {
    std::vector<std::string> found;
    for (const auto& [its, bytes] : fields)
        if (its == number) found.push_back(bytes);
    return found;
}

std::string one(const Fields& fields, int number) {
    const std::vector<std::string> found = all(fields, number);
    return found.empty() ? std::string() : found.back();
}

bool is_error_info(const std::string& type_url) {
    return type_url.size() > kErrorInfo.size() &&
           type_url.compare(type_url.size() - kErrorInfo.size(), kErrorInfo.size(), kErrorInfo) == 0;
}

Fields error_info(const grpc::Status& status) {
    for (const std::string& detail : all(parse(status.error_details()), kDetails)) {
        const Fields any = parse(detail);
        if (is_error_info(one(any, kTypeUrl))) return parse(one(any, kValue));
    }
    return {};
}

std::string words(const grpc::Status& status) {
    const std::string reason = one(error_info(status), kReason);
    const std::string name =
        reason.empty() ? "gRPC code " + std::to_string(status.error_code()) : reason;
    return name + ": " + status.error_message();
}

} // namespace

Error::Error(const grpc::Status& status)
    : std::runtime_error(words(status)), code_(status.error_code()) {
    const Fields info = error_info(status);
    reason_ = one(info, kReason);
    domain_ = one(info, kDomain);
    for (const std::string& bytes : all(info, kMetadata)) {
        const Fields entry = parse(bytes);
        metadata_[one(entry, kMapKey)] = one(entry, kMapValue);
    }
}

} // namespace sandbox::rpc
