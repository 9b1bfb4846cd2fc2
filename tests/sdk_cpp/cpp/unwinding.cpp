// An exception of the program unwinds past sandboxes: `unwinding SOCKET` leaves none.
#include <iostream>
#include <thread>

#include <libsandbox.hpp>

#include "check.h"

using namespace sandbox;

static void fail_in_the_middle(Engine& engine)
{
    auto first = engine.create(Spec(0, "base").pool_wait(60000));
    auto second = engine.create(Spec(0, "base").pool_wait(60000));
    first->shell("true");
    throw std::runtime_error("the program's own");
}

static void live(Engine& engine)
{
    for (int i = 0; i < 5; i++) {
        try {
            fail_in_the_middle(engine);
        } catch (const std::runtime_error&) {
            continue;
        }
        CHECK(!"it threw");
    }
}

int main(int argc, char** argv)
{
    CHECK(argc == 2);
    Engine engine(argv[1]);
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++) {
        threads.emplace_back(live, std::ref(engine));
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    std::cout << "ok" << std::endl;
    std::string line;
    std::getline(std::cin, line); // the session stays open until the test has looked
}
