// A command in a sandbox: `hello [SOCKET [TEMPLATE]]`.
#include <libsandbox.hpp>

#include <iostream>

int main(int argc, char** argv)
{
    try {
        sandbox::Engine engine(argc > 1 ? argv[1] : SANDBOX_DEFAULT_SOCKET);
        auto sb = engine.create(sandbox::Spec(0, argc > 2 ? argv[2] : "base")
                                    .env("GREETING", "hello")
                                    .pool_wait(60000));
        sandbox::ExecResult ran = sb->shell("echo $GREETING from the guest; exit 3");
        std::cout << "it said: " << ran.out << "it exited with " << ran.exit_code << "\n";
    } catch (const sandbox::SandboxError& error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
