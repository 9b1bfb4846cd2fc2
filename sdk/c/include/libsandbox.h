/*
 * libsandbox: run commands and touch files in virtual machines of the sandbox engine.
 *
 * Link with -lsandbox.  The library needs libc and POSIX threads and nothing else.
 *
 * Conventions
 *   Results      Every call that can fail returns a sandbox_error_t and writes its results
 *                through pointers, only on SANDBOX_OK.  What would have to be freed is cleared
 *                by a call that fails, so that freeing it is allowed.
 *   Ownership    Arguments are borrowed for the length of the call.  What a call allocates
 *                is the caller's, and the call's comment names the function that frees it.
 *   Strings      Are NUL-terminated UTF-8.
 *   Threads      Every function may be called from any thread at any time, and calls of
 *                different threads overlap on the one connection.  A thread that is cancelled
 *                in a call ends after it.
 *   Signals      SIGPIPE is never raised.  The library's thread takes no signals.
 *   fork()       A child does not inherit the session: in it every call answers
 *                SANDBOX_ERR_DAEMON_UNREACHABLE until it calls sandbox_init() itself.  The
 *                parent's session and sandboxes are not affected by the child's exit.
 *   Errors that any call may return are listed here once:
 *     SANDBOX_ERR_DAEMON_UNREACHABLE  there is no session, or its connection was lost
 *     SANDBOX_ERR_PERMISSION_DENIED   the daemon refuses this user, or the handle names no
 *                                     sandbox of this session (it was destroyed, or it is
 *                                     of a session that sandbox_cleanup() ended)
 *     SANDBOX_ERR_INVALID_SPEC        a required pointer is NULL, a string is not UTF-8, a flag
 *                                     is unknown, or a struct of a newer header sets a field
 *                                     that this library does not know
 *     SANDBOX_ERR_INTERNAL            the daemon failed unexpectedly, or memory ran out here
 */
#ifndef LIBSANDBOX_H
#define LIBSANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIBSANDBOX_VERSION "0.1.0"

/** Where the daemon listens unless it was told otherwise. */
#define SANDBOX_DEFAULT_SOCKET "/var/run/sandbox-engine/engine.sock"

#if defined(__GNUC__)
#define SANDBOX_API __attribute__((visibility("default")))
#else
#define SANDBOX_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * What a call came to.
 *
 * The values never change.  A code that a newer daemon knows and this library does not
 * arrives as SANDBOX_ERR_INTERNAL.
 */
typedef enum {
    SANDBOX_OK = 0,                      /**< Success. */
    SANDBOX_ERR_POOL_EXHAUSTED = -1,     /**< No warm VM in time, or a cap on sandboxes was hit. */
    SANDBOX_ERR_INVALID_SPEC = -2,       /**< Unknown template, or a value that cannot be. */
    SANDBOX_ERR_DAEMON_UNREACHABLE = -3, /**< Could not connect to or talk to the daemon. */
    SANDBOX_ERR_PERMISSION_DENIED = -4,  /**< Rejected by the daemon. */
    SANDBOX_ERR_INTERNAL = -5,           /**< Unexpected failure. */
    SANDBOX_ERR_SESSION_EXPIRED = -6,    /**< The volume's lifetime has passed; it is gone. */
    SANDBOX_ERR_SESSION_LIMIT = -7,      /**< The volume has the longest lifetime allowed. */
    SANDBOX_ERR_SESSION_UNKNOWN = -8,    /**< No volume exists for the session key. */
    SANDBOX_ERR_GUEST_UNAVAILABLE = -9,  /**< The guest is not ready or is busy; try again. */
    SANDBOX_ERR_PATH_DENIED = -10,       /**< Not absolute, has `.` or `..`, leaves /workspace. */
    SANDBOX_ERR_NOT_FOUND = -11,         /**< The path does not exist. */
    SANDBOX_ERR_EXISTS = -12,            /**< The path exists and must not. */
    SANDBOX_ERR_TOO_LARGE = -13,         /**< A file, chunk or input is over its limit. */
    SANDBOX_ERR_GUEST_IO = -14,          /**< The guest's filesystem failed the operation. */
    SANDBOX_ERR_TIMEOUT = -15            /**< The deadline passed before the guest answered. */
} sandbox_error_t;

/**
 * A sandbox of this session.
 *
 * A handle is a name, not an address: it may be copied and kept, and no value is ever given
 * out twice in a process, so one that is no longer valid is answered with an error.
 */
typedef struct sandbox_handle_t sandbox_handle_t;

/**
 * What to create.  Begin with `sandbox_spec_t spec = {0};`: a field left at 0 or NULL has its
 * default, also one that a later version adds.
 */
typedef struct {
    uint64_t memory_mib;       /**< guest memory in MiB; the template's, or 0 */
    uint32_t vcpu_count;       /**< number of vCPUs; the template's, or 0 */
    const char* template_name; /**< snapshot template to restore */
    const char** env_vars;     /**< NULL-terminated "KEY=VALUE" array, for every command; or NULL */
    uint32_t pool_wait_ms;     /**< longest wait when the pool is empty; 0 = fail fast */
    const char* session_key;   /**< persistent /workspace volume; NULL = ephemeral */
    uint32_t ttl_seconds;      /**< volume lifetime; 0 = platform default */
    const char** egress_allow; /**< NULL-terminated hosts that may be reached; NULL = the default */
    int egress_deny_all;       /**< 1 = may reach nothing */
} sandbox_spec_t;

/** A sandbox as it is now. */
typedef struct {
    uint32_t sandbox_id;     /**< the daemon's number for it */
    bool is_running;         /**< false when paused */
    uint64_t uptime_ms;      /**< since the last resume */
    uint64_t memory_rss_mib; /**< resident set size of the virtual machine */
    uint32_t page_faults;    /**< cumulative page faults served */
} sandbox_status_t;

/** `sandbox_exec_spec_t.flags`: argv[0] is a script for `/bin/sh -c`. */
#define SANDBOX_EXEC_SHELL 1u

/** Most bytes of input that a command may be given. */
#define SANDBOX_MAX_STDIN 65536u

/** What to run.  Begin with `sandbox_exec_spec_t spec = {0};`. */
typedef struct {
    const char** argv;         /**< NULL-terminated; with SANDBOX_EXEC_SHELL argv[0] is a script */
    const char* cwd;           /**< working directory; NULL = /workspace */
    const char** env;          /**< NULL-terminated "KEY=VALUE" array, on top of the sandbox's */
    const uint8_t* stdin_data; /**< what the command reads; NULL = end of file at once */
    size_t stdin_len;          /**< at most SANDBOX_MAX_STDIN */
    uint32_t timeout_ms;       /**< killed after this; 0 = the longest allowed, one hour */
    uint64_t max_output;       /**< killed when a stream has more bytes; 0 = 4 MiB */
    uint32_t flags;            /**< SANDBOX_EXEC_SHELL or 0 */
} sandbox_exec_spec_t;

/**
 * What a command came to.  Free it with sandbox_exec_result_free().
 *
 * A reply holds the head of each stream: 32 KiB of output, 16 KiB of errors.  Where a total is
 * more than a length the rest was written and not returned.
 */
typedef struct {
    int32_t exit_code;     /**< the status it exited with; 128 + term_signal if a signal ended it */
    int32_t term_signal;   /**< the signal that ended it, or 0 */
    bool timed_out;        /**< it was killed at its timeout */
    bool output_truncated; /**< it was killed by the output cap */
    uint64_t duration_ms;  /**< from start to end, as the guest measured it */
    uint8_t* out;          /**< head of standard output; a NUL follows the out_len bytes */
    size_t out_len;        /**< bytes at `out` */
    uint64_t out_total;    /**< bytes that the command wrote */
    uint8_t* err;          /**< head of standard error; a NUL follows the err_len bytes */
    size_t err_len;        /**< bytes at `err` */
    uint64_t err_total;    /**< bytes that the command wrote */
} sandbox_exec_result_t;

/** What a path names. */
typedef enum {
    SANDBOX_FILE_UNKNOWN = 0,   /**< of a kind that this library does not know */
    SANDBOX_FILE_REGULAR = 1,   /**< a file */
    SANDBOX_FILE_DIRECTORY = 2, /**< a directory */
    SANDBOX_FILE_SYMLINK = 3,   /**< a symbolic link, not followed */
    SANDBOX_FILE_OTHER = 4      /**< a device, a socket, a pipe */
} sandbox_file_type_t;

/** One entry of a directory. */
typedef struct {
    const char* name;         /**< in the same block; bytes that are not UTF-8 read as U+FFFD */
    sandbox_file_type_t type; /**< links are not followed */
    uint64_t size;            /**< bytes */
    int64_t mtime;            /**< last change of content, seconds since 1970 */
} sandbox_dirent_t;

/** What a path names and how it is. */
typedef struct {
    sandbox_file_type_t type; /**< a final link is not followed */
    uint64_t size;            /**< bytes */
    uint32_t mode;            /**< permission bits, as for chmod() */
    int64_t mtime;            /**< last change of content, seconds since 1970 */
} sandbox_fstat_t;

/** Largest file that sandbox_read_file() and sandbox_write_file() move. */
#define SANDBOX_MAX_FILE 4194304u

#define SANDBOX_WRITE_EXCL 1u    /**< fail with SANDBOX_ERR_EXISTS if the path exists */
#define SANDBOX_WRITE_APPEND 2u  /**< add to the end in place of replacing */
#define SANDBOX_WRITE_PARENTS 4u /**< make missing directories above the path */

/**
 * Open the session to the daemon.
 *
 * A session that is open on the same socket is kept; one whose connection was lost is replaced,
 * and its handles are no longer valid.
 *
 * @param socket_path  NULL = SANDBOX_DEFAULT_SOCKET
 * @return SANDBOX_ERR_DAEMON_UNREACHABLE if nobody answers there;
 *         SANDBOX_ERR_INVALID_SPEC if a session to another socket is open
 */
SANDBOX_API sandbox_error_t sandbox_init(const char* socket_path);

/**
 * Create a sandbox.  Blocks up to `spec->pool_wait_ms` for a warm VM.
 *
 * The sandbox lives until sandbox_destroy(), sandbox_cleanup() or the end of the process.
 *
 * @param spec             a request: the daemon clamps `ttl_seconds` to its maximum
 * @param[out] out_handle  the sandbox; NULL unless SANDBOX_OK
 * @return SANDBOX_ERR_POOL_EXHAUSTED if no VM was ready in time or a cap was hit;
 *         SANDBOX_ERR_INVALID_SPEC for an unknown template, other memory or vCPUs than the
 *         template has, a `session_key` that is not 1-127 printable bytes without `"` and `\`,
 *         egress entries together with `egress_deny_all`, more than 64 of them, a malformed one,
 *         or one that the operator does not allow
 */
SANDBOX_API sandbox_error_t sandbox_create(const sandbox_spec_t* spec,
                                           sandbox_handle_t** out_handle);

/**
 * Stop the vCPUs; memory and files stay.  One that is paused stays so.
 * @return SANDBOX_ERR_GUEST_UNAVAILABLE if its virtual machine is gone
 */
SANDBOX_API sandbox_error_t sandbox_pause(sandbox_handle_t* handle);

/**
 * Let a paused sandbox go on.  One that is running goes on.
 * @return SANDBOX_ERR_GUEST_UNAVAILABLE if its virtual machine is gone
 */
SANDBOX_API sandbox_error_t sandbox_resume(sandbox_handle_t* handle);

/** End the sandbox.  On SANDBOX_OK the handle is no longer valid. */
SANDBOX_API sandbox_error_t sandbox_destroy(sandbox_handle_t* handle);

/** Read how the sandbox is. */
SANDBOX_API sandbox_error_t sandbox_inspect(sandbox_handle_t* handle,
                                            sandbox_status_t* out_status);

/** The number of a sandbox in the daemon's logs, without asking it; 0 if not valid. */
SANDBOX_API uint32_t sandbox_handle_id(const sandbox_handle_t* handle);

/**
 * Extend the life of a session volume.  Works with no sandbox running.
 *
 * @param extra_seconds        added to its lifetime, up to the platform's maximum
 * @param[out] out_expires_at  the new end, seconds since 1970; may be NULL
 * @return SANDBOX_ERR_SESSION_EXPIRED if its lifetime has passed;
 *         SANDBOX_ERR_SESSION_LIMIT if it has the longest lifetime already;
 *         SANDBOX_ERR_SESSION_UNKNOWN if no volume has this key;
 *         SANDBOX_ERR_INVALID_SPEC for a key that cannot be one
 */
SANDBOX_API sandbox_error_t sandbox_session_renew(const char* session_key, uint32_t extra_seconds,
                                                  uint64_t* out_expires_at);

/** What a code means, in English.  Never NULL, also for a value that is no code. */
SANDBOX_API const char* sandbox_error_string(sandbox_error_t code);

/**
 * Destroy every sandbox of the session and close it.  Calls of other threads that still wait
 * return SANDBOX_ERR_DAEMON_UNREACHABLE.  Without a session it does nothing.
 */
SANDBOX_API void sandbox_cleanup(void);

/*
 * Guest operations.  They take as long as the guest does, and at most 16 of a session are in
 * flight at once.  Besides what each lists, all of them return
 *   SANDBOX_ERR_GUEST_UNAVAILABLE  the guest is not reachable or paused, or 16 are in flight: retry
 *   SANDBOX_ERR_TIMEOUT            the daemon's deadline passed
 * and those that take a path return
 *   SANDBOX_ERR_PATH_DENIED        not absolute, has `.` or `..`, or leaves /workspace
 *   SANDBOX_ERR_NOT_FOUND          there is no such path
 *   SANDBOX_ERR_GUEST_IO           the guest's filesystem failed (full, a directory, ...)
 */

/**
 * Run a command to its end.
 *
 * @param spec             what to run
 * @param[out] out_result  free it with sandbox_exec_result_free()
 * @return SANDBOX_OK for any command that ran: a non-zero exit, a timeout and a kill by the
 *         output cap are results; SANDBOX_ERR_NOT_FOUND if there is no such program;
 *         SANDBOX_ERR_TOO_LARGE if the input, or arguments and environment, are over their limit
 */
SANDBOX_API sandbox_error_t sandbox_exec(sandbox_handle_t* handle, const sandbox_exec_spec_t* spec,
                                         sandbox_exec_result_t* out_result);

/** Free the two streams of a result; a second time does nothing, nor does NULL. */
SANDBOX_API void sandbox_exec_result_free(sandbox_exec_result_t* result);

/**
 * Read a whole file.
 *
 * @param[out] data  its bytes, for free(); not NULL also for an empty file
 * @param[out] len   how many
 * @return SANDBOX_ERR_TOO_LARGE above SANDBOX_MAX_FILE
 */
SANDBOX_API sandbox_error_t sandbox_read_file(sandbox_handle_t* handle, const char* path,
                                              uint8_t** data, size_t* len);

/**
 * Write a whole file.
 *
 * Up to 48 KiB the file is replaced atomically.  More is sent as a replacement and then
 * additions, so that a failure partway can leave a partial file.
 *
 * @param data   may be NULL if `len` is 0
 * @param mode   permission bits of a new file; 0 = 0644
 * @param flags  SANDBOX_WRITE_EXCL, SANDBOX_WRITE_APPEND, SANDBOX_WRITE_PARENTS or 0
 * @return SANDBOX_ERR_EXISTS with SANDBOX_WRITE_EXCL;
 *         SANDBOX_ERR_TOO_LARGE above SANDBOX_MAX_FILE
 */
SANDBOX_API sandbox_error_t sandbox_write_file(sandbox_handle_t* handle, const char* path,
                                               const uint8_t* data, size_t len, uint32_t mode,
                                               uint32_t flags);

/**
 * List a directory.
 *
 * @param[out] entries    one block with its names, for free(); not NULL also for an empty one
 * @param[out] count      how many
 * @param[out] truncated  whether there are more than fit a reply; may be NULL
 */
SANDBOX_API sandbox_error_t sandbox_list_dir(sandbox_handle_t* handle, const char* path,
                                             sandbox_dirent_t** entries, size_t* count,
                                             bool* truncated);

/** Read what a path names.  A final symbolic link is not followed. */
SANDBOX_API sandbox_error_t sandbox_stat(sandbox_handle_t* handle, const char* path,
                                         sandbox_fstat_t* out_stat);

/**
 * Make a directory.
 *
 * @param mode     permission bits; 0 = 0755
 * @param parents  make missing ones above it too, and do not mind one that is there
 * @return SANDBOX_ERR_EXISTS without `parents`
 */
SANDBOX_API sandbox_error_t sandbox_mkdir(sandbox_handle_t* handle, const char* path,
                                          uint32_t mode, bool parents);

/**
 * Remove a file or a directory.
 *
 * @param recursive  a directory with all that is in it; without it only an empty one
 */
SANDBOX_API sandbox_error_t sandbox_remove(sandbox_handle_t* handle, const char* path,
                                           bool recursive);

/*
 * How structs grow.  A new field goes at the end of its struct, past the padding that the older
 * struct had there.  Each call that takes a struct has a form that is told the struct's size, and
 * the macros below tell it the size in *this* header: a program built with an older header goes on
 * working with a newer library, and one built with a newer header learns from
 * SANDBOX_ERR_INVALID_SPEC that a field it set is not known.  The plain functions are there too,
 * for those who bind them by name; they take the structs of version 0.1 for ever.
 */
SANDBOX_API sandbox_error_t sandbox_create_sized(const sandbox_spec_t* spec, size_t spec_size,
                                                 sandbox_handle_t** out_handle);
SANDBOX_API sandbox_error_t sandbox_inspect_sized(sandbox_handle_t* handle,
                                                  sandbox_status_t* out_status, size_t status_size);
SANDBOX_API sandbox_error_t sandbox_exec_sized(sandbox_handle_t* handle,
                                               const sandbox_exec_spec_t* spec, size_t spec_size,
                                               sandbox_exec_result_t* out_result,
                                               size_t result_size);
SANDBOX_API sandbox_error_t sandbox_list_dir_sized(sandbox_handle_t* handle, const char* path,
                                                   sandbox_dirent_t** entries, size_t entry_size,
                                                   size_t* count, bool* truncated);
SANDBOX_API sandbox_error_t sandbox_stat_sized(sandbox_handle_t* handle, const char* path,
                                               sandbox_fstat_t* out_stat, size_t stat_size);

#ifndef SANDBOX_NO_SIZED_CALLS
#define sandbox_create(spec, out_handle) \
    sandbox_create_sized((spec), sizeof(sandbox_spec_t), (out_handle))
#define sandbox_inspect(handle, out_status) \
    sandbox_inspect_sized((handle), (out_status), sizeof(sandbox_status_t))
#define sandbox_exec(handle, spec, out_result)                          \
    sandbox_exec_sized((handle), (spec), sizeof(sandbox_exec_spec_t),   \
                       (out_result), sizeof(sandbox_exec_result_t))
#define sandbox_list_dir(handle, path, entries, count, truncated)                  \
    sandbox_list_dir_sized((handle), (path), (entries), sizeof(sandbox_dirent_t), \
                           (count), (truncated))
#define sandbox_stat(handle, path, out_stat) \
    sandbox_stat_sized((handle), (path), (out_stat), sizeof(sandbox_fstat_t))
#endif

#ifdef __cplusplus
}
#endif

#endif /* LIBSANDBOX_H */
