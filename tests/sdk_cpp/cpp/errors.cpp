// Errors come as SandboxError with their code, and nothing is left behind: `errors SOCKET`.
#include <cstring>
#include <iostream>
#include <type_traits>

#include <libsandbox.hpp>

#include "check.h"

using namespace sandbox;

static_assert(!std::is_copy_constructible_v<Sandbox> && !std::is_copy_assignable_v<Sandbox>);
static_assert(std::is_nothrow_move_constructible_v<Sandbox>);
static_assert(std::is_nothrow_move_assignable_v<Sandbox>);
static_assert(std::is_nothrow_destructible_v<Sandbox> && std::is_nothrow_destructible_v<Engine>);
static_assert(std::is_nothrow_copy_constructible_v<SandboxError>);
static_assert(std::is_base_of_v<std::runtime_error, SandboxError>);

template <typename Call>
static void expect(sandbox_error_t code, Call call)
{
    try {
        call();
    } catch (const SandboxError& error) {
        CHECK_EQUAL(error.code(), code);
        CHECK(std::strstr(error.what(), ": "));
        return;
    }
    CHECK(!"it threw");
}

static void specs(Engine& engine)
{
    expect(SANDBOX_ERR_INVALID_SPEC, [&] { engine.create(Spec(512, "absent")); });
    expect(SANDBOX_ERR_INVALID_SPEC,
           [&] { engine.create(Spec(0, "base").allow_egress("a.example").no_egress()); });
    expect(SANDBOX_ERR_INVALID_SPEC, [&] { engine.create(Spec(0, "base").session("a\"b")); });
    expect(SANDBOX_ERR_INTERNAL, [&] { engine.create(Spec(0, "broken")); });
    expect(SANDBOX_ERR_SESSION_UNKNOWN, [&] { engine.renew("unknown", 1); });
}

static void text_that_c_would_cut_short(Engine& engine)
{
    const std::string cut("a\0b", 3);
    expect(SANDBOX_ERR_INVALID_SPEC, [&] { Spec(0, cut); });
    expect(SANDBOX_ERR_INVALID_SPEC, [&] { Spec(0, "base").env("K", cut); });
    expect(SANDBOX_ERR_INVALID_SPEC, [&] { Spec(0, "base").env("K=", "V"); });
    expect(SANDBOX_ERR_INVALID_SPEC, [&] { Spec(0, "base").env("", "V"); });
    expect(SANDBOX_ERR_INVALID_SPEC, [&] { Spec(0, "base").session(cut); });
    expect(SANDBOX_ERR_INVALID_SPEC, [&] { Spec(0, "base").allow_egress(cut); });
    expect(SANDBOX_ERR_INVALID_SPEC, [&] { Command::shell(cut); });
    expect(SANDBOX_ERR_INVALID_SPEC, [&] { Command{"cat"}.cwd(cut); });
    expect(SANDBOX_ERR_INVALID_SPEC, [&] { Command{"cat"}.env("A=B", "C"); });
    expect(SANDBOX_ERR_INVALID_SPEC, [&] { engine.renew(cut, 1); });
    expect(SANDBOX_ERR_INVALID_SPEC, [&] { Engine other(cut); });
}

static void guest(Sandbox& box)
{
    const std::string cut("/workspace/a\0b", 14);
    expect(SANDBOX_ERR_NOT_FOUND, [&] { box.read_file("/workspace/absent"); });
    expect(SANDBOX_ERR_NOT_FOUND, [&] { box.list_dir("/workspace/absent"); });
    expect(SANDBOX_ERR_NOT_FOUND, [&] { box.stat("/workspace/absent"); });
    expect(SANDBOX_ERR_PATH_DENIED, [&] { box.remove("/etc/passwd"); });
    expect(SANDBOX_ERR_PATH_DENIED, [&] { box.write_file("relative", ""); });
    box.mkdir("/workspace/d");
    expect(SANDBOX_ERR_EXISTS, [&] { box.mkdir("/workspace/d"); });
    expect(SANDBOX_ERR_TOO_LARGE,
           [&] { box.exec(Command{"cat"}.input(std::string(65537, 'x'))); });
    expect(SANDBOX_ERR_INVALID_SPEC, [&] { box.exec(Command{}); });
    expect(SANDBOX_ERR_INVALID_SPEC, [&] { box.read_file(cut); });
    box.pause();
    expect(SANDBOX_ERR_GUEST_UNAVAILABLE, [&] { box.shell("true"); });
    box.resume();
}

static void builders_may_be_copied(Engine& engine)
{
    Spec base = Spec(0, "base").env("A", "1");
    Spec copy = base, moved = std::move(copy);
    moved.env("B", "2");
    copy = moved;
    CHECK(engine.create(base)->shell("echo $A$B").out == "1\n");
    CHECK(engine.create(copy)->shell("echo $A$B").out == "12\n");
    Command command = Command::shell("echo $A"), other = command;
    other.env("A", "3");
    command = other;
    CHECK(engine.create(base)->exec(command).out == "3\n");
}

static void a_sandbox_moves(Engine& engine)
{
    auto first = engine.create(Spec(0, "base")), second = engine.create(Spec(0, "base"));
    uint32_t id = first->id();
    Sandbox moved(std::move(*first));
    CHECK_EQUAL(moved.inspect().sandbox_id, id);
    expect(SANDBOX_ERR_INVALID_SPEC, [&] { first->inspect(); });
    *second = std::move(moved); // ends what second was
    CHECK_EQUAL(second->inspect().sandbox_id, id);
    second->destroy();
    expect(SANDBOX_ERR_INVALID_SPEC, [&] { second->destroy(); });
    CHECK_EQUAL(second->id(), id);
}

int main(int argc, char** argv)
{
    CHECK(argc == 2);
    expect(SANDBOX_ERR_DAEMON_UNREACHABLE, [] { Engine none("/absent/engine.sock"); });
    std::unique_ptr<Sandbox> survivor;
    {
        Engine engine(argv[1]), same(argv[1]);
        specs(engine);
        text_that_c_would_cut_short(engine);
        guest(*engine.create(Spec(0, "base")));
        builders_may_be_copied(engine);
        a_sandbox_moves(same);
        survivor = same.create(Spec(0, "base"));
        expect(SANDBOX_ERR_INVALID_SPEC, [] { Engine elsewhere("/absent/engine.sock"); });
    }
    expect(SANDBOX_ERR_DAEMON_UNREACHABLE, [&] { survivor->inspect(); });
    Engine again(argv[1]);
    expect(SANDBOX_ERR_PERMISSION_DENIED, [&] { survivor->inspect(); });
    survivor.reset();
    std::cout << "ok\n";
}
