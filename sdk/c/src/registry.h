/*
 * Which handle is which sandbox.
 *
 * A handle is a serial number in a pointer's clothes and is never dereferenced: a stale one, or
 * one that never was, is simply not found.  Serials are not used twice in a process, so a stale
 * handle cannot come to mean another sandbox.  No locks: client.c guards it.
 */
#ifndef REGISTRY_H
#define REGISTRY_H

#include "libsandbox.h"

struct registry_entry {
    uintptr_t serial;
    uint32_t sandbox_id;
};

/** The sandboxes of one session; zeroed is empty. */
struct registry {
    struct registry_entry* entries;
    size_t count;
    size_t reserved; /* places promised by registry_reserve() */
    size_t room;
};

/** Promise one place, so that a sandbox that was created can be kept.  False without memory. */
bool registry_reserve(struct registry* registry);

/** Give a promised place back. */
void registry_cancel(struct registry* registry);

/** Use a promised place. */
sandbox_handle_t* registry_add(struct registry* registry, uint32_t sandbox_id);

/** Find what a handle names; false if nothing. */
bool registry_find(const struct registry* registry, const sandbox_handle_t* handle,
                   uint32_t* sandbox_id);

/** Forget a handle; false if it names nothing.  Its place is promised to the caller. */
bool registry_take(struct registry* registry, const sandbox_handle_t* handle,
                   uint32_t* sandbox_id);

/** Undo registry_take(). */
void registry_put_back(struct registry* registry, const sandbox_handle_t* handle,
                       uint32_t sandbox_id);

/** Forget up to `most` handles and say which sandboxes they were; 0 at the end. */
size_t registry_drain(struct registry* registry, uint32_t* sandbox_ids, size_t most);

#endif
