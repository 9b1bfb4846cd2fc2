/*
 * Start one program from the agent, without fork: the only native code in the guest.
 *
 * A fork of the agent copies its page tables and a wrapper program costs a second exec;
 * under software emulation either is dearer than everything else an exec does.  So the
 * child borrows the agent's memory (CLONE_VM | CLONE_VFORK: the agent stands still until
 * the child executes or dies), is born inside its own cgroup, and leaves the reason of a
 * failure in the request itself.
 *
 * Raw system calls only, no libc: it is built with -nostdlib -ffreestanding and loads
 * beside any C library.  Not re-entrant (one child stack): the caller has one thread
 * that spawns, and holds Python's lock while it does.
 */
#include <linux/close_range.h>
#include <linux/sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#if !defined(__x86_64__)
#error "the agent's spawn is written for x86-64; add the system call stubs of this machine"
#endif

enum {
    NO_ENTRY = 2,
    ACCESS_DENIED = 13,
    NOT_A_DIRECTORY = 20,
    INTERRUPTED = 4,
};
enum {
    SIGNAL_PIPE = 13,
    SIGNAL_FILE_SIZE = 25,
    SIGNAL_CHILD = 17,
    SET_MASK = 2,
    WAIT_ALL = 0x40000000,
    TAKE_TERMINAL = 0x540E, /* TIOCSCTTY */
    LIMIT_FILES = 7,
};

/** Where a start failed; `sandbox_guest.spawn` gives the words. */
enum step { STEP_CLONE = 1, STEP_SESSION, STEP_FILES, STEP_TERMINAL, STEP_USER, STEP_CWD, STEP_EXEC };

/** Mirrored by `sandbox_guest.spawn.Request`. */
struct spawn_request {
    const char *const *paths; /**< where to look for the program, in order, NULL-ended */
    const char *const *argv;
    const char *const *envp;
    const char *cwd;
    const uint32_t *groups;
    uint32_t group_count;
    uint32_t uid;
    uint32_t gid;
    int32_t change_user; /**< 0 keeps the agent's own ids */
    int32_t cgroup;      /**< descriptor of the cgroup to be born in, or -1 */
    int32_t files[3];    /**< become 0, 1 and 2; all must be above 2 */
    int32_t terminal;    /**< 1: descriptor 0 becomes the controlling terminal */
    int32_t error;       /**< out: errno of a failure */
    int32_t step;        /**< out: its `enum step` */
};

struct kernel_limit {
    uint64_t soft, hard;
};

struct kernel_sigaction {
    void (*handler)(int);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

static char child_stack[32768] __attribute__((aligned(16)));

static long call4(long number, long a, long b, long c, long d)
{
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
}

static long call3(long number, long a, long b, long c)
{
    return call4(number, a, b, c, 0);
}

static _Noreturn void fail(struct spawn_request *request, enum step step, long error)
{
    request->step = step;
    request->error = (int32_t)-error;
    for (;;)
        call3(SYS_exit, 127, 0, 0);
}

static void check(struct spawn_request *request, enum step step, long result)
{
    if (result < 0)
        fail(request, step, result);
}

static void become_user(struct spawn_request *request)
{
    check(request, STEP_USER,
          call3(SYS_setgroups, request->group_count, (long)request->groups, 0));
    check(request, STEP_USER, call3(SYS_setresgid, request->gid, request->gid, request->gid));
    check(request, STEP_USER, call3(SYS_setresuid, request->uid, request->uid, request->uid));
}

static void default_signals(void)
{
    /* CLONE_CLEAR_SIGHAND reset every handler; what Python ignores stays ignored. */
    struct kernel_sigaction action = {0};
    uint64_t none = 0;
    call4(SYS_rt_sigaction, SIGNAL_PIPE, (long)&action, 0, sizeof none);
    call4(SYS_rt_sigaction, SIGNAL_FILE_SIZE, (long)&action, 0, sizeof none);
    call4(SYS_rt_sigprocmask, SET_MASK, (long)&none, 0, sizeof none);
}

/** The first failure that says more than "not there" is the one reported, as a shell does. */
static long execute(const struct spawn_request *request)
{
    long kept = -NO_ENTRY;
    for (const char *const *path = request->paths; *path; path++) {
        long result = call3(SYS_execve, (long)*path, (long)request->argv, (long)request->envp);
        if (result == -NO_ENTRY || result == -NOT_A_DIRECTORY)
            continue;
        kept = result;
        if (result != -ACCESS_DENIED)
            break;
    }
    return kept;
}

static _Noreturn void child(struct spawn_request *request)
{
    check(request, STEP_SESSION, call3(SYS_setsid, 0, 0, 0));
    for (int target = 0; target < 3; target++)
        check(request, STEP_FILES, call3(SYS_dup2, request->files[target], target, 0));
    check(request, STEP_FILES, call3(SYS_close_range, 3, ~0U, 0));
    /* The agent's own soft limit is far above what old programs walk through at start. */
    struct kernel_limit files;
    call4(SYS_prlimit64, 0, LIMIT_FILES, 0, (long)&files);
    files.soft = files.hard < 1024 ? files.hard : 1024;
    call4(SYS_prlimit64, 0, LIMIT_FILES, (long)&files, 0);
    if (request->terminal)
        check(request, STEP_TERMINAL, call3(SYS_ioctl, 0, TAKE_TERMINAL, 0));
    if (request->change_user)
        become_user(request);
    check(request, STEP_CWD, call3(SYS_chdir, (long)request->cwd, 0, 0));
    default_signals();
    fail(request, STEP_EXEC, execute(request));
}

/** clone3, and in the child a jump to child() on its own stack: it must never return. */
static long clone_child(struct clone_args *args, struct spawn_request *request)
{
    long result;
    register struct spawn_request *kept __asm__("r12") = request;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %%r12, %%rdi\n\t"
                     "call *%[entry]\n\t"
                     "hlt\n"
                     "1:"
                     : "=a"(result)
                     : "a"((long)SYS_clone3), "D"(args), "S"(sizeof *args), "r"(kept),
                       [entry] "b"(child)
                     : "rcx", "r11", "memory");
    return result;
}

/**
 * Start what `request` says.
 * @return the pid, or -1 with `error` and `step` set; nothing is left to be reaped then
 */
long sandbox_spawn(struct spawn_request *request)
{
    struct clone_args args = {0};
    uint64_t all = ~0ULL, before = 0;
    args.flags = CLONE_VM | CLONE_VFORK | CLONE_CLEAR_SIGHAND;
    args.exit_signal = SIGNAL_CHILD;
    args.stack = (uint64_t)child_stack;
    args.stack_size = sizeof child_stack;
    if (request->cgroup >= 0) {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = (uint64_t)request->cgroup;
    }
    request->error = request->step = 0;

    /* No handler of the agent's may run in the child, which shares its memory. */
    call4(SYS_rt_sigprocmask, SET_MASK, (long)&all, (long)&before, sizeof all);
    long pid = clone_child(&args, request);
    call4(SYS_rt_sigprocmask, SET_MASK, (long)&before, 0, sizeof before);

    if (pid < 0) {
        request->step = STEP_CLONE;
        request->error = (int32_t)-pid;
        return -1;
    }
    if (request->error) {
        while (call4(SYS_wait4, pid, 0, WAIT_ALL, 0) == -INTERRUPTED)
            ;
        return -1;
    }
    return pid;
}
