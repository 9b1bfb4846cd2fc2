// Runs a command in a new sandbox and shows its output as it comes.
#include <cstdlib>
#include <iostream>

#include <sandbox_grpc.hpp>

int main() {
    using namespace sandbox;
    rpc::Client client(std::string("unix:") + std::getenv("SANDBOX_GRPC_SOCKET"));

    v1::CreateSandboxRequest request;
    request.set_template_("base");
    request.mutable_pool_wait()->set_seconds(120);
    rpc::Sandbox box = client.create(request); // destroyed at the end of the block

    box.write_file("/workspace/name", "world");
    v1::ExecStart start;
    start.add_argv("echo \"hello $(cat /workspace/name)\"");
    start.set_shell(true);
    const v1::ExecExit exit = box.exec(start).wait([](auto data) { std::cout << data; },
                                                   [](auto data) { std::cerr << data; });
    std::cout << "exit " << exit.code() << "\n";
}
