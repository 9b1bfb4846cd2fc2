// Plays tests/conformance/scenario.yaml and says each step that passed.
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <optional>
#include <random>
#include <sstream>
#include <thread>
#include <utility>

#include <sandbox_grpc.hpp>

namespace {

namespace v1 = sandbox::v1;
namespace rpc = sandbox::rpc;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr size_t kPatternSize = 1 << 20;
constexpr const char* kPatternSha256 =
    "f6a34d4c79c3d12c297589206bf216b084347471a53ea5e7fe9a46bd1230f098";
constexpr std::chrono::seconds kPatience{60};

/** A check that did not hold. */
struct Seen {
    std::string what;
};

template <typename... Words>
void check(bool holds, const Words&... seen) {
    if (holds) return;
    std::ostringstream text;
    (text << ... << seen);
    throw Seen{text.str()};
}

/** What a call that must fail fails with. */
template <typename Call>
rpc::Error failure_of(Call call) {
    try {
        call();
    } catch (const rpc::Error& error) {
        return error;
    }
    throw Seen{"a call that must fail did not"};
}

std::string pattern() {
    std::string made(kPatternSize, '\0');
    for (size_t i = 0; i < made.size(); ++i) made[i] = static_cast<char>((i * 31 + (i >> 8)) % 256);
    return made;
}

std::string fresh_id() {
    std::random_device random;
    return "cpp-" + std::to_string(random()) + "-" + std::to_string(random());
}

v1::ExecStart script(const std::string& text) {
    v1::ExecStart start;
    start.add_argv(text);
    start.set_shell(true);
    return start;
}

v1::ExecStart sleeper() {
    v1::ExecStart start;
    start.add_argv("sleep");
    start.add_argv("4322");
    return start;
}

std::string run(const rpc::Sandbox& box, const std::string& text) {
    const rpc::Result result = box.run(text);
    check(result.exit.code() == 0, text, " ended with ", result.exit.code(), " ", result.err);
    return result.out;
}

void output_until(rpc::Process& process, const std::string& wanted) {
    std::string out;
    v1::ExecResponse event;
    while (out.size() < wanted.size()) {
        check(process.next(event) && !event.has_exit(), "ended before ", wanted);
        out += event.out().data();
    }
    check(out == wanted, out);
}

class Player {
public:
    explicit Player(std::string target) : target_(std::move(target)), client_(connect()) {}

    int play() {
        const std::pair<const char*, void (Player::*)()> steps[] = {
            {"create", &Player::create},     {"live_exec", &Player::live_exec},
            {"binary", &Player::binary},     {"error", &Player::error},
            {"cancel", &Player::cancel},     {"fork", &Player::fork},
            {"deadline", &Player::deadline}, {"reconnect", &Player::reconnect},
        };
        for (const auto& [name, step] : steps) {
            try {
                (this->*step)();
            } catch (const Seen& seen) {
                std::cout << "fail " << name << ": " << seen.what << "\n";
                return 1;
            } catch (const std::exception& error) {
                std::cout << "fail " << name << ": " << error.what() << "\n";
                return 1;
            }
            std::cout << "ok " << name << "\n";
        }
        return 0;
    }

private:
    std::unique_ptr<rpc::Client> connect() const { return std::make_unique<rpc::Client>(target_); }

    void create() {
        v1::CreateSandboxRequest request;
        request.set_template_("base");
        request.set_request_id(fresh_id());
        request.mutable_ttl()->set_seconds(300);
        request.mutable_pool_wait()->set_seconds(120);
        request.set_claim_ref("conformance");
        box_.emplace(client_->create(request));
        check(box_->id().rfind("sb_", 0) == 0, box_->id());
        check(box_->info().state() == v1::SANDBOX_STATE_RUNNING, box_->info().state());
        check(box_->info().template_() == "base", box_->info().template_());
        rpc::Sandbox again = client_->create(request);
        again.keep();
        check(again.id() == box_->id(), again.id(), " is not ", box_->id());
    }

    void live_exec() {
        v1::ExecStart start =
            script("echo first; read line; echo \"got $line\"; echo problem >&2; exit 7");
        start.set_input(true);
        rpc::Process process = box_->exec(start);
        output_until(process, "first\n");
        process.write("second\n");
        process.close_input();
        std::string out, err;
        const v1::ExecExit exit = process.wait([&](auto data) { out += data; },
                                               [&](auto data) { err += data; });
        check(out == "got second\n", out);
        check(err == "problem\n", err);
        check(exit.code() == 7 && exit.signal() == 0, exit.code(), " ", exit.signal());
        check(!exit.timed_out() && !exit.truncated(), "it was ended");
        check(exit.out_total() == 17 && exit.err_total() == 8, exit.out_total());
    }

    void binary() {
        const std::string data = pattern();
        v1::ExecStart start;
        start.add_argv("cat");
        start.set_input(true);
        rpc::Process process = box_->exec(start);
        std::thread writer([&] {
            process.write(data);
            process.close_input();
        });
        std::string back;
        const v1::ExecExit exit = process.wait([&](auto piece) { back += piece; });
        writer.join();
        check(exit.code() == 0 && back == data, "cat: ", exit.code(), " ", back.size());
        box_->write_file("/workspace/in/pattern", data);
        const std::string said = run(*box_, "sha256sum </workspace/in/pattern");
        check(said.rfind(kPatternSha256, 0) == 0, said);
        check(box_->read_file("/workspace/in/pattern") == data, "read back");
    }

    void error() {
        const rpc::Error missing = failure_of([&] { box_->read_file("/workspace/missing"); });
        check(missing.reason() == "PATH_NOT_FOUND", missing.what());
        check(missing.domain() == "sandbox-engine", missing.domain());
        v1::CreateSandboxRequest request;
        request.set_template_("no-such-template");
        const rpc::Error unknown = failure_of([&] { client_->create(request); });
        check(unknown.reason() == "TEMPLATE_NOT_FOUND", unknown.what());
        check(unknown.metadata().at("name") == "no-such-template", unknown.what());
    }

    /** Wait until no process of the sandbox has this command line. */
    void gone(char first, const std::string& rest) {
        const std::string count = std::string("cat /proc/[0-9]*/cmdline 2>/dev/null | ") +
                                  "tr '\\0' ' ' | grep -c '[" + first + "]" + rest + "' || true";
        const auto until = steady_clock::now() + kPatience;
        std::string said;
        while (steady_clock::now() < until)
            if ((said = run(*box_, count)) == "0\n") return;
        throw Seen{"still there: " + said};
    }

    void cancel() {
        rpc::Process process = box_->exec(script("echo up; exec sleep 4321"));
        output_until(process, "up\n");
        process.cancel();
        const rpc::Error error = failure_of([&] { process.wait(); });
        check(error.code() == grpc::StatusCode::CANCELLED, error.what());
        gone('s', "leep 4321");
    }

    void fork() {
        run(*box_, "echo parent >/workspace/who; echo 1 >/dev/shm/memory");
        v1::ForkSandboxRequest request;
        request.set_count(1);
        request.mutable_ttl()->set_seconds(300);
        std::vector<rpc::Sandbox> children = box_->fork(request);
        check(children.size() == 1, children.size());
        rpc::Sandbox& child = children.front();
        check(child.id() != box_->id(), child.id());
        check(child.info().parent_id() == box_->id(), child.info().parent_id());
        run(child, "echo child >/workspace/who");
        run(*box_, "echo 2 >/dev/shm/memory");
        const std::string seen = run(*box_, "cat /workspace/who") + run(child, "cat /workspace/who") +
                                 run(*box_, "cat /dev/shm/memory") +
                                 run(child, "cat /dev/shm/memory");
        check(seen == "parent\nchild\n2\n1\n", seen);
        child.close();
        const rpc::Error error = failure_of([&] { client_->get(child.id()); });
        check(error.reason() == "SANDBOX_NOT_FOUND", error.what());
    }

    void deadline() {
        const rpc::Error error = failure_of([&] {
            box_->exec(sleeper(), {milliseconds(2000)}).wait();
        });
        check(error.code() == grpc::StatusCode::DEADLINE_EXCEEDED, error.what());
        gone('s', "leep 4322");
        v1::ExecStart start = sleeper();
        start.mutable_timeout()->set_seconds(1);
        check(box_->exec(start).wait().timed_out(), "it did not time out");
    }

    void reconnect() {
        run(*box_, "echo kept >/workspace/kept");
        const std::string id = box_->id();
        box_->keep();
        box_.reset();
        client_.reset();
        client_ = connect();
        box_.emplace(client_->sandbox(id));
        check(client_->get(id).state() == v1::SANDBOX_STATE_RUNNING, "it runs no more");
        const std::string kept = box_->read_file("/workspace/kept");
        check(kept == "kept\n", kept);
        box_->close();
        box_->close();
    }

    std::string target_;
    std::unique_ptr<rpc::Client> client_;
    std::optional<rpc::Sandbox> box_;
};

} // namespace

int main() {
    return Player(std::string("unix:") + std::getenv("SANDBOX_GRPC_SOCKET")).play();
}
