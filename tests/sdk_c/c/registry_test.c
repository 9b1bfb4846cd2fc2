/* Handles: what is stale is not found and comes to mean nothing else. */
#include "check.h"
#include "registry.h"

static sandbox_handle_t* add(struct registry* registry, uint32_t sandbox_id)
{
    CHECK(registry_reserve(registry));
    return registry_add(registry, sandbox_id);
}

static void a_handle_finds_its_sandbox_until_it_is_taken(void)
{
    struct registry registry = {0};
    sandbox_handle_t* handles[100];
    uint32_t found = 0;
    for (uint32_t i = 0; i < 100; i++) {
        handles[i] = add(&registry, i + 1000);
    }
    for (uint32_t i = 0; i < 100; i += 2) {
        CHECK(registry_take(&registry, handles[i], &found));
        CHECK_EQUAL(found, i + 1000);
        registry_cancel(&registry);
    }
    for (uint32_t i = 0; i < 100; i++) {
        CHECK_EQUAL(registry_find(&registry, handles[i], &found), i % 2);
        if (i % 2) {
            CHECK_EQUAL(found, i + 1000);
        }
    }
    free(registry.entries);
}

static void a_handle_is_never_given_out_again(void)
{
    struct registry first = {0}, second = {0};
    uint32_t found = 0;
    sandbox_handle_t* stale = add(&first, 1);
    CHECK_EQUAL(registry_drain(&first, &found, 1), 1);
    CHECK_EQUAL(registry_drain(&first, &found, 1), 0);
    sandbox_handle_t* fresh = add(&second, 1);
    CHECK(stale != fresh);
    CHECK(!registry_find(&second, stale, &found));
    CHECK(!registry_find(&second, NULL, &found));
    CHECK(!registry_take(&first, stale, &found));
    free(first.entries);
    free(second.entries);
}

static void what_could_not_be_destroyed_keeps_its_handle(void)
{
    struct registry registry = {0};
    uint32_t found = 0;
    sandbox_handle_t* handle = add(&registry, 5);
    CHECK(registry_take(&registry, handle, &found));
    CHECK(!registry_find(&registry, handle, &found));
    registry_put_back(&registry, handle, found);
    CHECK(registry_find(&registry, handle, &found));
    CHECK_EQUAL(found, 5);
    free(registry.entries);
}

int main(void)
{
    a_handle_finds_its_sandbox_until_it_is_taken();
    a_handle_is_never_given_out_again();
    what_could_not_be_destroyed_keeps_its_handle();
    return 0;
}
