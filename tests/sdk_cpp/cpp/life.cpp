// Everything a sandbox can do, through libsandbox++: `life SOCKET TEMPLATE`.
#include <cstring>
#include <iostream>

#include <libsandbox.hpp>

#include "check.h"

using namespace sandbox;

static void commands(Sandbox& box)
{
    ExecResult ran = box.exec({"/bin/echo", "one", "two  three"});
    CHECK(ran.exit_code == 0 && ran.out == "one two  three\n" && ran.err.empty());
    ran = box.shell("echo out; echo err >&2; exit 3");
    CHECK(ran.exit_code == 3 && ran.out == "out\n" && ran.err == "err\n");
    CHECK(ran.out_total == 4 && ran.err_total == 4 && ran.term_signal == 0);
    ran = box.exec(Command::shell("echo $GREETING $OWN").env("OWN", "a=b"));
    CHECK(ran.out == "hello a=b\n");
    std::string bytes("a\0b\xff", 4);
    ran = box.exec(Command{"cat"}.input(bytes));
    CHECK(ran.out == bytes);
    ran = box.exec(Command::shell("sleep 1000").timeout(50));
    CHECK(ran.timed_out && ran.term_signal == 9);
    ran = box.exec(Command::shell("head -c 100000 /dev/zero"));
    CHECK(ran.out.size() == 32768 && ran.out_total == 100000 && !ran.output_truncated);
    ran = box.exec(Command::shell("head -c 100000 /dev/zero").max_output(1000));
    CHECK(ran.output_truncated);
    std::vector<std::string> argv = {"/bin/echo", "vector"};
    CHECK(box.exec(argv).out == "vector\n");
}

static void files(Sandbox& box)
{
    std::string big(200000, 'x');
    big[100000] = '\0';
    box.mkdir("/workspace/a/b", 0700, true);
    CHECK_EQUAL(box.stat("/workspace/a/b").mode, 0700);
    box.write_file("/workspace/a/big", big, 0640);
    CHECK(box.read_file("/workspace/a/big") == big);
    box.write_file("/workspace/a/text", "one\n");
    box.write_file("/workspace/a/text", "two\n", 0, SANDBOX_WRITE_APPEND);
    CHECK(box.read_file("/workspace/a/text") == "one\ntwo\n");
    box.write_file("/workspace/empty", "");
    CHECK(box.read_file("/workspace/empty").empty());
    sandbox_fstat_t found = box.stat("/workspace/a/big");
    CHECK(found.type == SANDBOX_FILE_REGULAR && found.size == big.size() && found.mode == 0640);
    Listing listing = box.list_dir("/workspace/a");
    CHECK(listing.entries.size() == 3 && !listing.truncated);
    for (const DirEntry& entry : listing.entries) {
        CHECK(entry.name == "b" || entry.name == "big" || entry.name == "text");
        CHECK((entry.type == SANDBOX_FILE_DIRECTORY) == (entry.name == "b"));
    }
    CHECK(box.exec(Command{"cat", "text"}.cwd("/workspace/a")).out == "one\ntwo\n");
    box.remove("/workspace/a", true);
    CHECK(box.list_dir("/workspace").entries.size() == 1);
}

static void states(Sandbox& box)
{
    CHECK(box.inspect().is_running);
    CHECK_EQUAL(box.inspect().sandbox_id, box.id());
    box.pause();
    CHECK(!box.inspect().is_running);
    box.resume();
    CHECK(box.inspect().is_running);
}

int main(int argc, char** argv)
{
    CHECK(argc == 3);
    Engine engine(argv[1]);
    auto box = engine.create(Spec(0, argv[2]).env("GREETING", "hello").pool_wait(60000));
    CHECK(box->id() != 0);
    states(*box);
    commands(*box);
    files(*box);
    box->destroy();
    std::cout << "ok\n";
}
