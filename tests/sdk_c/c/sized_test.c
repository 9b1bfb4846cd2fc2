/* Structs of older and newer headers. */
#include <string.h>

#include "check.h"
#include "sized.h"

struct old {
    int a;
};
struct now {
    int a, b;
};
struct newer {
    int a, b, c;
};

int main(void)
{
    struct now own = {9, 9};
    struct old old = {1};
    struct newer newer = {1, 2, 0};
    CHECK(sized_read(&own, sizeof own, &old, sizeof old));
    CHECK(own.a == 1 && own.b == 0);
    CHECK(sized_read(&own, sizeof own, &newer, sizeof newer));
    CHECK(own.a == 1 && own.b == 2);
    newer.c = 3;
    CHECK(!sized_read(&own, sizeof own, &newer, sizeof newer));

    struct old two_old[2] = {{7}, {7}};
    sized_write(&two_old[0], sizeof old, &own, sizeof own);
    CHECK(two_old[0].a == 1 && two_old[1].a == 7);
    sized_write(&newer, sizeof newer, &own, sizeof own);
    CHECK(newer.a == 1 && newer.b == 2 && newer.c == 0);
    CHECK_EQUAL(END_OF(struct newer, b), 2 * sizeof(int));
    return 0;
}
