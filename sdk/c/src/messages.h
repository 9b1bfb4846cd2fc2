/* Written by tools/codegen/c_messages.py from proto/sandbox/v1/legacy.proto; change it there. */
#ifndef MESSAGES_H
#define MESSAGES_H

#include "pb.h"

enum file_kind {
    FILE_KIND_UNSPECIFIED = 0,
    FILE_KIND_FILE = 1,
    FILE_KIND_DIRECTORY = 2,
    FILE_KIND_SYMLINK = 3,
    FILE_KIND_OTHER = 4,
};

struct create_request {
    uint64_t memory_mib;
    uint32_t vcpu_count;
    struct pb_view template_name;
    struct pb_list env_vars;
    uint32_t pool_wait_ms;
    struct pb_view session_key;
    uint32_t ttl_seconds;
    struct pb_list egress_allow;
    bool egress_deny_all;
};
extern const struct pb_type create_request_type;

struct destroy_request {
    uint32_t sandbox_id;
};
extern const struct pb_type destroy_request_type;

struct pause_request {
    uint32_t sandbox_id;
};
extern const struct pb_type pause_request_type;

struct resume_request {
    uint32_t sandbox_id;
};
extern const struct pb_type resume_request_type;

struct inspect_request {
    uint32_t sandbox_id;
};
extern const struct pb_type inspect_request_type;

struct session_renew_request {
    struct pb_view session_key;
    uint32_t extra_seconds;
};
extern const struct pb_type session_renew_request_type;

struct guest_exec_request {
    struct pb_view cwd;
    struct pb_list argv;
    bool shell;
    struct pb_list env;
    uint32_t timeout_ms;
    uint64_t max_output;
    struct pb_view input;
};
extern const struct pb_type guest_exec_request_type;

struct guest_read_file_request {
    struct pb_view path;
    uint64_t offset;
    uint32_t max_bytes;
};
extern const struct pb_type guest_read_file_request_type;

struct guest_write_file_request {
    struct pb_view path;
    uint32_t mode;
    struct pb_view data;
    bool append;
    bool exclusive;
    bool parents;
};
extern const struct pb_type guest_write_file_request_type;

struct guest_list_dir_request {
    struct pb_view path;
};
extern const struct pb_type guest_list_dir_request_type;

struct guest_stat_request {
    struct pb_view path;
};
extern const struct pb_type guest_stat_request_type;

struct guest_mkdir_request {
    struct pb_view path;
    uint32_t mode;
    bool parents;
};
extern const struct pb_type guest_mkdir_request_type;

struct guest_remove_request {
    struct pb_view path;
    bool recursive;
};
extern const struct pb_type guest_remove_request_type;

enum guest_request_operation_case {
    GUEST_REQUEST_EXEC = 2,
    GUEST_REQUEST_READ_FILE = 3,
    GUEST_REQUEST_WRITE_FILE = 4,
    GUEST_REQUEST_LIST_DIR = 5,
    GUEST_REQUEST_STAT = 6,
    GUEST_REQUEST_MKDIR = 7,
    GUEST_REQUEST_REMOVE = 8,
};

struct guest_request {
    uint32_t sandbox_id;
    uint32_t operation_case;
    union {
        struct guest_exec_request exec;
        struct guest_read_file_request read_file;
        struct guest_write_file_request write_file;
        struct guest_list_dir_request list_dir;
        struct guest_stat_request stat;
        struct guest_mkdir_request mkdir;
        struct guest_remove_request remove;
    } operation;
};
extern const struct pb_type guest_request_type;

enum client_message_request_case {
    CLIENT_MESSAGE_CREATE = 1,
    CLIENT_MESSAGE_DESTROY = 2,
    CLIENT_MESSAGE_PAUSE = 3,
    CLIENT_MESSAGE_RESUME = 4,
    CLIENT_MESSAGE_INSPECT = 5,
    CLIENT_MESSAGE_SESSION_RENEW = 6,
    CLIENT_MESSAGE_GUEST = 7,
};

struct client_message {
    uint64_t request_id;
    uint32_t request_case;
    union {
        struct create_request create;
        struct destroy_request destroy;
        struct pause_request pause;
        struct resume_request resume;
        struct inspect_request inspect;
        struct session_renew_request session_renew;
        struct guest_request guest;
    } request;
};
extern const struct pb_type client_message_type;

struct create_response {
    uint32_t sandbox_id;
    struct pb_view session_token;
};
extern const struct pb_type create_response_type;

struct destroy_response {
    char nothing; /* C has no empty struct */
};
extern const struct pb_type destroy_response_type;

struct pause_response {
    char nothing; /* C has no empty struct */
};
extern const struct pb_type pause_response_type;

struct resume_response {
    char nothing; /* C has no empty struct */
};
extern const struct pb_type resume_response_type;

struct inspect_response {
    uint32_t sandbox_id;
    bool is_running;
    uint64_t uptime_ms;
    uint64_t memory_rss_mib;
    uint32_t page_faults;
};
extern const struct pb_type inspect_response_type;

struct session_renew_response {
    uint64_t expires_at;
};
extern const struct pb_type session_renew_response_type;

struct guest_exec_response {
    int32_t exit_code;
    uint32_t term_signal;
    bool timed_out;
    bool output_truncated;
    uint64_t duration_ms;
    struct pb_view out;
    struct pb_view err;
    uint64_t out_total;
    uint64_t err_total;
};
extern const struct pb_type guest_exec_response_type;

struct guest_read_file_response {
    struct pb_view data;
    uint64_t file_size;
    bool truncated;
};
extern const struct pb_type guest_read_file_response_type;

struct guest_write_file_response {
    char nothing; /* C has no empty struct */
};
extern const struct pb_type guest_write_file_response_type;

struct guest_dir_entry {
    struct pb_view name;
    int32_t kind;
    uint64_t size;
    int64_t mtime;
};
extern const struct pb_type guest_dir_entry_type;

struct guest_list_dir_response {
    struct pb_list entries;
    bool truncated;
};
extern const struct pb_type guest_list_dir_response_type;

struct guest_stat_response {
    int32_t kind;
    uint64_t size;
    uint32_t mode;
    int64_t mtime;
};
extern const struct pb_type guest_stat_response_type;

struct guest_mkdir_response {
    char nothing; /* C has no empty struct */
};
extern const struct pb_type guest_mkdir_response_type;

struct guest_remove_response {
    char nothing; /* C has no empty struct */
};
extern const struct pb_type guest_remove_response_type;

enum guest_response_result_case {
    GUEST_RESPONSE_EXEC = 2,
    GUEST_RESPONSE_READ_FILE = 3,
    GUEST_RESPONSE_WRITE_FILE = 4,
    GUEST_RESPONSE_LIST_DIR = 5,
    GUEST_RESPONSE_STAT = 6,
    GUEST_RESPONSE_MKDIR = 7,
    GUEST_RESPONSE_REMOVE = 8,
};

struct guest_response {
    uint32_t result_case;
    union {
        struct guest_exec_response exec;
        struct guest_read_file_response read_file;
        struct guest_write_file_response write_file;
        struct guest_list_dir_response list_dir;
        struct guest_stat_response stat;
        struct guest_mkdir_response mkdir;
        struct guest_remove_response remove;
    } result;
};
extern const struct pb_type guest_response_type;

struct error_response {
    int32_t error_code;
    struct pb_view message;
};
extern const struct pb_type error_response_type;

enum server_message_response_case {
    SERVER_MESSAGE_CREATE = 1,
    SERVER_MESSAGE_DESTROY = 2,
    SERVER_MESSAGE_PAUSE = 3,
    SERVER_MESSAGE_RESUME = 4,
    SERVER_MESSAGE_INSPECT = 5,
    SERVER_MESSAGE_SESSION_RENEW = 6,
    SERVER_MESSAGE_GUEST = 7,
    SERVER_MESSAGE_ERROR = 15,
};

struct server_message {
    uint64_t request_id;
    uint32_t response_case;
    union {
        struct create_response create;
        struct destroy_response destroy;
        struct pause_response pause;
        struct resume_response resume;
        struct inspect_response inspect;
        struct session_renew_response session_renew;
        struct guest_response guest;
        struct error_response error;
    } response;
};
extern const struct pb_type server_message_type;

#endif
