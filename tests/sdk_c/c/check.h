/* What the tests' C programs check with: a failure names its place and ends the program. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                           \
        }                                                                      \
    } while (0)

/* For values that print as integers. */
#define CHECK_EQUAL(given, expected)                                                      \
    do {                                                                                  \
        long long given_ = (long long)(given), expected_ = (long long)(expected);         \
        if (given_ != expected_) {                                                        \
            fprintf(stderr, "%s:%d: %s is %lld, not %lld\n", __FILE__, __LINE__, #given,  \
                    given_, expected_);                                                   \
            exit(1);                                                                      \
        }                                                                                 \
    } while (0)

#endif
