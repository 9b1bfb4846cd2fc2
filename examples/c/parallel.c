/*
 * Sandboxes of several threads on one connection: `parallel [SOCKET [TEMPLATE]]`.
 */
#include <libsandbox.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4 };

static sandbox_spec_t spec;

/* Computes the square of `argument` in a sandbox of its own; returns it as a pointer's value. */
static void* square(void* argument)
{
    char text[64];
    sandbox_handle_t* sandbox;
    sandbox_exec_result_t result;
    const char* script[] = {text, NULL};
    sandbox_exec_spec_t command = {0};
    intptr_t squared = -1;
    snprintf(text, sizeof text, "echo $((%d * %d))", (int)(intptr_t)argument,
             (int)(intptr_t)argument);
    command.argv = script;
    command.flags = SANDBOX_EXEC_SHELL;
    if (sandbox_create(&spec, &sandbox) != SANDBOX_OK) {
        return (void*)squared;
    }
    if (sandbox_exec(sandbox, &command, &result) == SANDBOX_OK) {
        squared = atoi((const char*)result.out);
        sandbox_exec_result_free(&result);
    }
    sandbox_destroy(sandbox);
    return (void*)squared;
}

int main(int argc, char** argv)
{
    pthread_t threads[THREADS];
    spec.template_name = argc > 2 ? argv[2] : "base";
    spec.pool_wait_ms = 60000;
    if (sandbox_init(argc > 1 ? argv[1] : NULL) != SANDBOX_OK) {
        fprintf(stderr, "no daemon\n");
        return 1;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, square, (void*)(intptr_t)(i + 1));
    }
    for (int i = 0; i < THREADS; i++) {
        void* squared;
        pthread_join(threads[i], &squared);
        printf("%d squared is %d\n", i + 1, (int)(intptr_t)squared);
    }
    sandbox_cleanup();
    return 0;
}
