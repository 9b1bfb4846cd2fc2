/*
 * Round trips from C: `round_trips ECHO_SOCKET ENGINE_SOCKET TEMPLATE`.
 *
 * The floor is a 40-byte echo over a Unix socket by one blocking thread; beside it, in turn and in
 * the same run, sandbox_inspect().  Then calls a second from 1 and from 16 threads on the one
 * connection.  Prints one JSON object; times are microseconds.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <libsandbox.h>

enum { ROUNDS = 15, CALLS = 1000, MESSAGE = 40, MOST_THREADS = 16, PER_THREAD = 2000 };

static sandbox_handle_t* handle;
static int echo_fd;

static void must(int ok, const char* what)
{
    if (!ok) {
        fprintf(stderr, "round_trips: %s\n", what);
        exit(1);
    }
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static void echo(void)
{
    char message[MESSAGE] = {0};
    must(send(echo_fd, message, MESSAGE, 0) == MESSAGE, "echo send");
    must(recv(echo_fd, message, MESSAGE, MSG_WAITALL) == MESSAGE, "echo receive");
}

static void inspect(void)
{
    sandbox_status_t status;
    must(sandbox_inspect(handle, &status) == SANDBOX_OK, "inspect");
}

static int by_size(const void* a, const void* b)
{
    double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static double median(double* values, size_t count)
{
    qsort(values, count, sizeof *values, by_size);
    return values[count / 2];
}

static double median_of_calls(void (*call)(void))
{
    static double times[CALLS];
    for (int i = 0; i < CALLS; i++) {
        double began = now_us();
        call();
        times[i] = now_us() - began;
    }
    return median(times, CALLS);
}

static void* many(void* argument)
{
    (void)argument;
    for (int i = 0; i < PER_THREAD; i++) {
        inspect();
    }
    return NULL;
}

static double calls_a_second(int threads)
{
    pthread_t ids[MOST_THREADS];
    double began = now_us();
    for (int i = 0; i < threads; i++) {
        must(!pthread_create(&ids[i], NULL, many, NULL), "thread");
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
    }
    return threads * PER_THREAD / ((now_us() - began) / 1e6);
}

static void connect_echo(const char* path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    must(strlen(path) < sizeof address.sun_path, "path too long");
    strcpy(address.sun_path, path);
    echo_fd = socket(AF_UNIX, SOCK_STREAM, 0);
    must(!connect(echo_fd, (struct sockaddr*)&address, sizeof address), "echo connect");
}

static void create(const char* socket_path, const char* template_name)
{
    sandbox_spec_t spec = {0};
    spec.template_name = template_name;
    spec.pool_wait_ms = 60000;
    must(sandbox_init(socket_path) == SANDBOX_OK, "init");
    must(sandbox_create(&spec, &handle) == SANDBOX_OK, "create");
}

int main(int argc, char** argv)
{
    double echoes[ROUNDS], inspects[ROUNDS];
    must(argc == 4, "usage: round_trips ECHO_SOCKET ENGINE_SOCKET TEMPLATE");
    connect_echo(argv[1]);
    create(argv[2], argv[3]);
    (void)median_of_calls(echo); /* both warm */
    (void)median_of_calls(inspect);
    for (int i = 0; i < ROUNDS; i++) {
        echoes[i] = median_of_calls(echo);
        inspects[i] = median_of_calls(inspect);
    }
    double one = calls_a_second(1), sixteen = calls_a_second(MOST_THREADS);
    double floor = median(echoes, ROUNDS), trip = median(inspects, ROUNDS);
    printf("{\"echo_us\":%.1f,\"inspect_us\":%.1f,\"ratio\":%.2f,"
           "\"calls_a_second_1_thread\":%.0f,\"calls_a_second_16_threads\":%.0f}\n",
           floor, trip, trip / floor, one, sixteen);
    sandbox_cleanup();
    return 0;
}
