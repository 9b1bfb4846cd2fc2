// Files in and out of a sandbox: `files [SOCKET [TEMPLATE]]`.
#include <libsandbox.hpp>

#include <iostream>

static void work(sandbox::Sandbox& sb)
{
    sb.write_file("/workspace/in/words", "one\ntwo\nthree\n", 0, SANDBOX_WRITE_PARENTS);
    sb.exec({"sort", "-o", "sorted", "in/words"});
    for (const sandbox::DirEntry& entry : sb.list_dir("/workspace/in").entries) {
        std::cout << entry.name << ": " << entry.size << " bytes\n";
    }
    std::cout << sb.read_file("/workspace/sorted");
    try {
        sb.read_file("/etc/passwd");
    } catch (const sandbox::SandboxError& error) {
        std::cout << error.what() << "\n";
    }
}

int main(int argc, char** argv)
{
    try {
        sandbox::Engine engine(argc > 1 ? argv[1] : SANDBOX_DEFAULT_SOCKET);
        auto sb = engine.create(
            sandbox::Spec(0, argc > 2 ? argv[2] : "base").pool_wait(60000));
        work(*sb);
    } catch (const sandbox::SandboxError& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
