#include "registry.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Handles look like aligned pointers, which is what languages that inspect them expect. */
enum { FIRST_ROOM = 16, HANDLE_STEP = 16 };

static atomic_uintptr_t last_serial;

static uintptr_t serial_of(const sandbox_handle_t* handle)
{
    return (uintptr_t)handle / HANDLE_STEP;
}

static sandbox_handle_t* handle_of(uintptr_t serial)
{
    return (sandbox_handle_t*)(serial * HANDLE_STEP);
}

bool registry_reserve(struct registry* registry)
{
    if (registry->count + registry->reserved == registry->room) {
        size_t room = registry->room ? registry->room * 2 : FIRST_ROOM;
        void* entries = realloc(registry->entries, room * sizeof *registry->entries);
        if (!entries) {
            return false;
        }
        registry->entries = entries;
        registry->room = room;
    }
    registry->reserved++;
    return true;
}

void registry_cancel(struct registry* registry)
{
    registry->reserved--;
}

static void append(struct registry* registry, uintptr_t serial, uint32_t sandbox_id)
{
    struct registry_entry entry = {serial, sandbox_id};
    registry->reserved--;
    registry->entries[registry->count++] = entry;
}

sandbox_handle_t* registry_add(struct registry* registry, uint32_t sandbox_id)
{
    uintptr_t serial = atomic_fetch_add(&last_serial, 1) + 1;
    append(registry, serial, sandbox_id);
    return handle_of(serial);
}

/* A session owns 128 sandboxes at most: looking through them is quicker than a table. */
static struct registry_entry* entry_of(const struct registry* registry,
                                       const sandbox_handle_t* handle)
{
    for (size_t i = 0; i < registry->count; i++) {
        if (registry->entries[i].serial == serial_of(handle)) {
            return &registry->entries[i];
        }
    }
    return NULL;
}

bool registry_find(const struct registry* registry, const sandbox_handle_t* handle,
                   uint32_t* sandbox_id)
{
    const struct registry_entry* entry = entry_of(registry, handle);
    if (entry) {
        *sandbox_id = entry->sandbox_id;
    }
    return entry != NULL;
}

bool registry_take(struct registry* registry, const sandbox_handle_t* handle,
                   uint32_t* sandbox_id)
{
    struct registry_entry* entry = entry_of(registry, handle);
    if (!entry) {
        return false;
    }
    *sandbox_id = entry->sandbox_id;
    *entry = registry->entries[--registry->count];
    registry->reserved++;
    return true;
}

void registry_put_back(struct registry* registry, const sandbox_handle_t* handle,
                       uint32_t sandbox_id)
{
    append(registry, serial_of(handle), sandbox_id);
}

size_t registry_drain(struct registry* registry, uint32_t* sandbox_ids, size_t most)
{
    size_t count = 0;
    while (count < most && registry->count) {
        sandbox_ids[count++] = registry->entries[--registry->count].sandbox_id;
    }
    return count;
}
