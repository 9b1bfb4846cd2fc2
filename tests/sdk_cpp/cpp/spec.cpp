// Every setter of a Spec once: `spec SOCKET`; the test reads what the daemon was asked.
#include <iostream>

#include <libsandbox.hpp>

#include "check.h"

int main(int argc, char** argv)
{
    CHECK(argc == 2);
    sandbox::Engine engine(argv[1]);
    engine.create(sandbox::Spec(256, "base")
                      .vcpus(2)
                      .env("K", "V")
                      .env("L", "")
                      .pool_wait(500)
                      .session("key")
                      .ttl(60)
                      .allow_egress("index.example")
                      .allow_egress("*.packages.example"));
    engine.create(sandbox::Spec(256, "base").no_egress());
    CHECK(engine.renew("key", 60) > 0);
    std::cout << "ok\n";
}
