/*
 * libsandbox for a shell: `driver -- create template=base -- exec sh='echo hi' -- cleanup`.
 *
 * Each operation is a word and key=value arguments; each prints one line, the word, the code and
 * what came back, bytes in hexadecimal.  Handles are numbered from 0; an operation takes `h=N`,
 * the latest if it has none, and `h=-1` is NULL.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libsandbox.h>

enum { MAX_HANDLES = 1024, MAX_LIST = 256 };

static sandbox_handle_t* handles[MAX_HANDLES];
static int handle_count;
static char** args; /* of the operation at hand */
static int arg_count;

static const char* text(const char* key, const char* otherwise)
{
    size_t len = strlen(key);
    for (int i = 0; i < arg_count; i++) {
        if (!strncmp(args[i], key, len) && args[i][len] == '=') {
            return args[i] + len + 1;
        }
    }
    return otherwise;
}

static uint64_t number(const char* key)
{
    return strtoull(text(key, "0"), NULL, 0);
}

/* Every value of a key that may be given more than once, or NULL. */
static const char** list(const char* key, const char** room)
{
    size_t len = strlen(key), count = 0;
    for (int i = 0; i < arg_count; i++) {
        if (!strncmp(args[i], key, len) && args[i][len] == '=') {
            room[count++] = args[i] + len + 1;
        }
    }
    room[count] = NULL;
    return count ? room : NULL;
}

static sandbox_handle_t* handle(void)
{
    const char* which = text("h", NULL);
    int i = which ? atoi(which) : handle_count - 1;
    return i < 0 ? NULL : handles[i];
}

/* `data=` as it is, or `fill=N` bytes of a pattern that shows a piece that is out of place. */
static uint8_t* content(size_t* len)
{
    const char* data = text("data", NULL);
    *len = data ? strlen(data) : number("fill");
    uint8_t* bytes = malloc(*len + 1);
    for (size_t i = 0; i < *len; i++) {
        bytes[i] = data ? (uint8_t)data[i] : (uint8_t)(i % 251);
    }
    return bytes;
}

static void print_bytes(const char* key, const uint8_t* data, size_t len)
{
    printf(" %s=", key);
    for (size_t i = 0; i < len; i++) {
        printf("%02x", data[i]);
    }
}

static void do_create(void)
{
    const char* env[MAX_LIST];
    const char* hosts[MAX_LIST];
    sandbox_handle_t* created = NULL;
    sandbox_spec_t spec = {0};
    spec.memory_mib = number("memory");
    spec.vcpu_count = (uint32_t)number("vcpus");
    spec.template_name = text("template", NULL);
    spec.env_vars = list("env", env);
    spec.pool_wait_ms = (uint32_t)number("wait");
    spec.session_key = text("key", NULL);
    spec.ttl_seconds = (uint32_t)number("ttl");
    spec.egress_allow = list("allow", hosts);
    spec.egress_deny_all = (int)number("deny");
    printf(" %d", sandbox_create(&spec, &created));
    if (created) {
        printf(" id=%u h=%d", sandbox_handle_id(created), handle_count);
        handles[handle_count++] = created;
    }
}

static void do_inspect(void)
{
    sandbox_status_t status = {0};
    printf(" %d", sandbox_inspect(handle(), &status));
    printf(" id=%u running=%d uptime=%llu rss=%llu faults=%u", status.sandbox_id,
           status.is_running, (unsigned long long)status.uptime_ms,
           (unsigned long long)status.memory_rss_mib, status.page_faults);
}

static void do_renew(void)
{
    uint64_t ends = 0;
    printf(" %d", sandbox_session_renew(text("key", NULL), (uint32_t)number("extra"), &ends));
    printf(" ends=%llu", (unsigned long long)ends);
}

static void do_exec(void)
{
    const char* argv[MAX_LIST];
    const char* env[MAX_LIST];
    const char* script[] = {text("sh", NULL), NULL};
    sandbox_exec_spec_t spec = {0};
    sandbox_exec_result_t result;
    uint8_t* input = content(&spec.stdin_len);
    spec.argv = script[0] ? script : list("arg", argv);
    spec.cwd = text("cwd", NULL);
    spec.env = list("env", env);
    spec.stdin_data = input;
    spec.timeout_ms = (uint32_t)number("timeout");
    spec.max_output = number("max");
    spec.flags = script[0] ? SANDBOX_EXEC_SHELL : (uint32_t)number("flags");
    printf(" %d", sandbox_exec(handle(), &spec, &result));
    printf(" exit=%d signal=%d timed_out=%d truncated=%d out_total=%llu err_total=%llu",
           result.exit_code, result.term_signal, result.timed_out, result.output_truncated,
           (unsigned long long)result.out_total, (unsigned long long)result.err_total);
    print_bytes("out", result.out, result.out_len);
    print_bytes("err", result.err, result.err_len);
    sandbox_exec_result_free(&result);
    free(input);
}

static void do_read(void)
{
    uint8_t* data;
    size_t len;
    printf(" %d", sandbox_read_file(handle(), text("path", NULL), &data, &len));
    printf(" len=%zu", len);
    print_bytes("data", data, len);
    free(data);
}

static void do_write(void)
{
    size_t len;
    uint8_t* data = content(&len);
    printf(" %d", sandbox_write_file(handle(), text("path", NULL), data, len,
                                     (uint32_t)number("mode"), (uint32_t)number("flags")));
    free(data);
}

static void do_list(void)
{
    sandbox_dirent_t* entries;
    size_t count;
    bool truncated = false;
    printf(" %d", sandbox_list_dir(handle(), text("path", NULL), &entries, &count, &truncated));
    printf(" count=%zu truncated=%d", count, truncated);
    for (size_t i = 0; i < count; i++) {
        printf(" entry=%s:%d:%llu:%lld", entries[i].name, entries[i].type,
               (unsigned long long)entries[i].size, (long long)entries[i].mtime);
    }
    free(entries);
}

static void do_stat(void)
{
    sandbox_fstat_t stat = {0};
    printf(" %d", sandbox_stat(handle(), text("path", NULL), &stat));
    printf(" type=%d size=%llu mode=%o mtime=%lld", stat.type, (unsigned long long)stat.size,
           stat.mode, (long long)stat.mtime);
}

static bool do_plain(const char* what)
{
    const char* path = text("path", NULL);
    if (!strcmp(what, "init")) {
        printf(" %d", sandbox_init(text("socket", NULL)));
    } else if (!strcmp(what, "pause")) {
        printf(" %d", sandbox_pause(handle()));
    } else if (!strcmp(what, "resume")) {
        printf(" %d", sandbox_resume(handle()));
    } else if (!strcmp(what, "destroy")) {
        printf(" %d", sandbox_destroy(handle()));
    } else if (!strcmp(what, "id")) {
        printf(" 0 id=%u", sandbox_handle_id(handle()));
    } else if (!strcmp(what, "string")) {
        printf(" 0 text=%s", sandbox_error_string((sandbox_error_t)atoi(text("code", "0"))));
    } else if (!strcmp(what, "mkdir")) {
        printf(" %d", sandbox_mkdir(handle(), path, (uint32_t)number("mode"), number("parents")));
    } else if (!strcmp(what, "remove")) {
        printf(" %d", sandbox_remove(handle(), path, number("recursive")));
    } else if (!strcmp(what, "cleanup")) {
        sandbox_cleanup();
        printf(" 0");
    } else {
        return false;
    }
    return true;
}

static bool do_one(const char* what)
{
    static const struct {
        const char* name;
        void (*run)(void);
    } operations[] = {{"create", do_create}, {"inspect", do_inspect}, {"renew", do_renew},
                      {"exec", do_exec},     {"read", do_read},       {"write", do_write},
                      {"list", do_list},     {"stat", do_stat}};
    printf("%s", what);
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (!strcmp(what, operations[i].name)) {
            operations[i].run();
            return true;
        }
    }
    return do_plain(what);
}

int main(int argc, char** argv)
{
    for (int i = 1; i < argc;) {
        if (strcmp(argv[i++], "--") || i == argc) {
            fprintf(stderr, "usage: driver [-- OPERATION [KEY=VALUE]...]...\n");
            return 2;
        }
        const char* what = argv[i++];
        args = argv + i;
        for (arg_count = 0; i < argc && strcmp(argv[i], "--"); i++) {
            arg_count++;
        }
        if (!do_one(what)) {
            fprintf(stderr, "driver: no operation %s\n", what);
            return 2;
        }
        printf("\n");
        fflush(stdout);
    }
    return 0;
}
