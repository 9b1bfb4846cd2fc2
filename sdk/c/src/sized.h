/*
 * Structs of a caller whose header may be older or newer than this library.
 *
 * A struct only ever grows at its end, past the padding of what was there before, so the shorter
 * of the two is a prefix of the longer.
 */
#ifndef SIZED_H
#define SIZED_H

#include <stdbool.h>
#include <stddef.h>

/** Where a member ends: the size of a struct as far as it has it. */
#define END_OF(type, member) (offsetof(type, member) + sizeof(((type*)NULL)->member))

/**
 * Read a caller's struct: what it lacks is 0.
 * False if it sets a field that this library does not know.
 */
bool sized_read(void* own, size_t own_size, const void* callers, size_t callers_size);

/** Write a caller's struct: what it has more than ours is cleared. */
void sized_write(void* callers, size_t callers_size, const void* own, size_t own_size);

#endif
