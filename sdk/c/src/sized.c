#include "sized.h"

#include <string.h>

bool sized_read(void* own, size_t own_size, const void* callers, size_t callers_size)
{
    const unsigned char* bytes = callers;
    memset(own, 0, own_size);
    memcpy(own, callers, callers_size < own_size ? callers_size : own_size);
    for (size_t i = own_size; i < callers_size; i++) {
        if (bytes[i]) {
            return false;
        }
    }
    return true;
}

void sized_write(void* callers, size_t callers_size, const void* own, size_t own_size)
{
    memset(callers, 0, callers_size);
    memcpy(callers, own, callers_size < own_size ? callers_size : own_size);
}
