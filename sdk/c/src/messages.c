/* Written by tools/codegen/c_messages.py from proto/sandbox/v1/legacy.proto; change it there. */
#include "messages.h"

static const struct pb_field create_request_fields[] = {
    {1, PB_UINT64, PB_SINGLE, offsetof(struct create_request, memory_mib), 0, NULL},
    {2, PB_UINT32, PB_SINGLE, offsetof(struct create_request, vcpu_count), 0, NULL},
    {3, PB_STRING, PB_SINGLE, offsetof(struct create_request, template_name), 0, NULL},
    {4, PB_STRING, PB_REPEATED, offsetof(struct create_request, env_vars), 0, NULL},
    {5, PB_UINT32, PB_SINGLE, offsetof(struct create_request, pool_wait_ms), 0, NULL},
    {6, PB_STRING, PB_SINGLE, offsetof(struct create_request, session_key), 0, NULL},
    {7, PB_UINT32, PB_SINGLE, offsetof(struct create_request, ttl_seconds), 0, NULL},
    {8, PB_STRING, PB_REPEATED, offsetof(struct create_request, egress_allow), 0, NULL},
    {9, PB_BOOL, PB_SINGLE, offsetof(struct create_request, egress_deny_all), 0, NULL},
};
const struct pb_type create_request_type = {create_request_fields, 9, sizeof(struct create_request)};

static const struct pb_field destroy_request_fields[] = {
    {1, PB_UINT32, PB_SINGLE, offsetof(struct destroy_request, sandbox_id), 0, NULL},
};
const struct pb_type destroy_request_type = {destroy_request_fields, 1, sizeof(struct destroy_request)};

static const struct pb_field pause_request_fields[] = {
    {1, PB_UINT32, PB_SINGLE, offsetof(struct pause_request, sandbox_id), 0, NULL},
};
const struct pb_type pause_request_type = {pause_request_fields, 1, sizeof(struct pause_request)};

static const struct pb_field resume_request_fields[] = {
    {1, PB_UINT32, PB_SINGLE, offsetof(struct resume_request, sandbox_id), 0, NULL},
};
const struct pb_type resume_request_type = {resume_request_fields, 1, sizeof(struct resume_request)};

static const struct pb_field inspect_request_fields[] = {
    {1, PB_UINT32, PB_SINGLE, offsetof(struct inspect_request, sandbox_id), 0, NULL},
};
const struct pb_type inspect_request_type = {inspect_request_fields, 1, sizeof(struct inspect_request)};

static const struct pb_field session_renew_request_fields[] = {
    {1, PB_STRING, PB_SINGLE, offsetof(struct session_renew_request, session_key), 0, NULL},
    {2, PB_UINT32, PB_SINGLE, offsetof(struct session_renew_request, extra_seconds), 0, NULL},
};
const struct pb_type session_renew_request_type = {session_renew_request_fields, 2, sizeof(struct session_renew_request)};

static const struct pb_field guest_exec_request_fields[] = {
    {1, PB_STRING, PB_SINGLE, offsetof(struct guest_exec_request, cwd), 0, NULL},
    {2, PB_STRING, PB_REPEATED, offsetof(struct guest_exec_request, argv), 0, NULL},
    {3, PB_BOOL, PB_SINGLE, offsetof(struct guest_exec_request, shell), 0, NULL},
    {4, PB_STRING, PB_REPEATED, offsetof(struct guest_exec_request, env), 0, NULL},
    {5, PB_UINT32, PB_SINGLE, offsetof(struct guest_exec_request, timeout_ms), 0, NULL},
    {6, PB_UINT64, PB_SINGLE, offsetof(struct guest_exec_request, max_output), 0, NULL},
    {7, PB_BYTES, PB_SINGLE, offsetof(struct guest_exec_request, input), 0, NULL},
};
const struct pb_type guest_exec_request_type = {guest_exec_request_fields, 7, sizeof(struct guest_exec_request)};

static const struct pb_field guest_read_file_request_fields[] = {
    {1, PB_STRING, PB_SINGLE, offsetof(struct guest_read_file_request, path), 0, NULL},
    {2, PB_UINT64, PB_SINGLE, offsetof(struct guest_read_file_request, offset), 0, NULL},
    {3, PB_UINT32, PB_SINGLE, offsetof(struct guest_read_file_request, max_bytes), 0, NULL},
};
const struct pb_type guest_read_file_request_type = {guest_read_file_request_fields, 3, sizeof(struct guest_read_file_request)};

static const struct pb_field guest_write_file_request_fields[] = {
    {1, PB_STRING, PB_SINGLE, offsetof(struct guest_write_file_request, path), 0, NULL},
    {2, PB_UINT32, PB_SINGLE, offsetof(struct guest_write_file_request, mode), 0, NULL},
    {3, PB_BYTES, PB_SINGLE, offsetof(struct guest_write_file_request, data), 0, NULL},
    {4, PB_BOOL, PB_SINGLE, offsetof(struct guest_write_file_request, append), 0, NULL},
    {5, PB_BOOL, PB_SINGLE, offsetof(struct guest_write_file_request, exclusive), 0, NULL},
    {6, PB_BOOL, PB_SINGLE, offsetof(struct guest_write_file_request, parents), 0, NULL},
};
const struct pb_type guest_write_file_request_type = {guest_write_file_request_fields, 6, sizeof(struct guest_write_file_request)};

static const struct pb_field guest_list_dir_request_fields[] = {
    {1, PB_STRING, PB_SINGLE, offsetof(struct guest_list_dir_request, path), 0, NULL},
};
const struct pb_type guest_list_dir_request_type = {guest_list_dir_request_fields, 1, sizeof(struct guest_list_dir_request)};

static const struct pb_field guest_stat_request_fields[] = {
    {1, PB_STRING, PB_SINGLE, offsetof(struct guest_stat_request, path), 0, NULL},
};
const struct pb_type guest_stat_request_type = {guest_stat_request_fields, 1, sizeof(struct guest_stat_request)};

static const struct pb_field guest_mkdir_request_fields[] = {
    {1, PB_STRING, PB_SINGLE, offsetof(struct guest_mkdir_request, path), 0, NULL},
    {2, PB_UINT32, PB_SINGLE, offsetof(struct guest_mkdir_request, mode), 0, NULL},
    {3, PB_BOOL, PB_SINGLE, offsetof(struct guest_mkdir_request, parents), 0, NULL},
};
const struct pb_type guest_mkdir_request_type = {guest_mkdir_request_fields, 3, sizeof(struct guest_mkdir_request)};

static const struct pb_field guest_remove_request_fields[] = {
    {1, PB_STRING, PB_SINGLE, offsetof(struct guest_remove_request, path), 0, NULL},
    {2, PB_BOOL, PB_SINGLE, offsetof(struct guest_remove_request, recursive), 0, NULL},
};
const struct pb_type guest_remove_request_type = {guest_remove_request_fields, 2, sizeof(struct guest_remove_request)};

static const struct pb_field guest_request_fields[] = {
    {1, PB_UINT32, PB_SINGLE, offsetof(struct guest_request, sandbox_id), 0, NULL},
    {2, PB_MESSAGE, PB_ONEOF, offsetof(struct guest_request, operation.exec), offsetof(struct guest_request, operation_case), &guest_exec_request_type},
    {3, PB_MESSAGE, PB_ONEOF, offsetof(struct guest_request, operation.read_file), offsetof(struct guest_request, operation_case), &guest_read_file_request_type},
    {4, PB_MESSAGE, PB_ONEOF, offsetof(struct guest_request, operation.write_file), offsetof(struct guest_request, operation_case), &guest_write_file_request_type},
    {5, PB_MESSAGE, PB_ONEOF, offsetof(struct guest_request, operation.list_dir), offsetof(struct guest_request, operation_case), &guest_list_dir_request_type},
    {6, PB_MESSAGE, PB_ONEOF, offsetof(struct guest_request, operation.stat), offsetof(struct guest_request, operation_case), &guest_stat_request_type},
    {7, PB_MESSAGE, PB_ONEOF, offsetof(struct guest_request, operation.mkdir), offsetof(struct guest_request, operation_case), &guest_mkdir_request_type},
    {8, PB_MESSAGE, PB_ONEOF, offsetof(struct guest_request, operation.remove), offsetof(struct guest_request, operation_case), &guest_remove_request_type},
};
const struct pb_type guest_request_type = {guest_request_fields, 8, sizeof(struct guest_request)};

static const struct pb_field client_message_fields[] = {
    {1, PB_MESSAGE, PB_ONEOF, offsetof(struct client_message, request.create), offsetof(struct client_message, request_case), &create_request_type},
    {2, PB_MESSAGE, PB_ONEOF, offsetof(struct client_message, request.destroy), offsetof(struct client_message, request_case), &destroy_request_type},
    {3, PB_MESSAGE, PB_ONEOF, offsetof(struct client_message, request.pause), offsetof(struct client_message, request_case), &pause_request_type},
    {4, PB_MESSAGE, PB_ONEOF, offsetof(struct client_message, request.resume), offsetof(struct client_message, request_case), &resume_request_type},
    {5, PB_MESSAGE, PB_ONEOF, offsetof(struct client_message, request.inspect), offsetof(struct client_message, request_case), &inspect_request_type},
    {6, PB_MESSAGE, PB_ONEOF, offsetof(struct client_message, request.session_renew), offsetof(struct client_message, request_case), &session_renew_request_type},
    {7, PB_MESSAGE, PB_ONEOF, offsetof(struct client_message, request.guest), offsetof(struct client_message, request_case), &guest_request_type},
    {100, PB_UINT64, PB_SINGLE, offsetof(struct client_message, request_id), 0, NULL},
};
const struct pb_type client_message_type = {client_message_fields, 8, sizeof(struct client_message)};

static const struct pb_field create_response_fields[] = {
    {1, PB_UINT32, PB_SINGLE, offsetof(struct create_response, sandbox_id), 0, NULL},
    {2, PB_STRING, PB_SINGLE, offsetof(struct create_response, session_token), 0, NULL},
};
const struct pb_type create_response_type = {create_response_fields, 2, sizeof(struct create_response)};

const struct pb_type destroy_response_type = {NULL, 0, sizeof(struct destroy_response)};

const struct pb_type pause_response_type = {NULL, 0, sizeof(struct pause_response)};

const struct pb_type resume_response_type = {NULL, 0, sizeof(struct resume_response)};

static const struct pb_field inspect_response_fields[] = {
    {1, PB_UINT32, PB_SINGLE, offsetof(struct inspect_response, sandbox_id), 0, NULL},
    {2, PB_BOOL, PB_SINGLE, offsetof(struct inspect_response, is_running), 0, NULL},
    {3, PB_UINT64, PB_SINGLE, offsetof(struct inspect_response, uptime_ms), 0, NULL},
    {4, PB_UINT64, PB_SINGLE, offsetof(struct inspect_response, memory_rss_mib), 0, NULL},
    {5, PB_UINT32, PB_SINGLE, offsetof(struct inspect_response, page_faults), 0, NULL},
};
const struct pb_type inspect_response_type = {inspect_response_fields, 5, sizeof(struct inspect_response)};

static const struct pb_field session_renew_response_fields[] = {
    {1, PB_UINT64, PB_SINGLE, offsetof(struct session_renew_response, expires_at), 0, NULL},
};
const struct pb_type session_renew_response_type = {session_renew_response_fields, 1, sizeof(struct session_renew_response)};

static const struct pb_field guest_exec_response_fields[] = {
    {1, PB_SINT32, PB_SINGLE, offsetof(struct guest_exec_response, exit_code), 0, NULL},
    {2, PB_UINT32, PB_SINGLE, offsetof(struct guest_exec_response, term_signal), 0, NULL},
    {3, PB_BOOL, PB_SINGLE, offsetof(struct guest_exec_response, timed_out), 0, NULL},
    {4, PB_BOOL, PB_SINGLE, offsetof(struct guest_exec_response, output_truncated), 0, NULL},
    {5, PB_UINT64, PB_SINGLE, offsetof(struct guest_exec_response, duration_ms), 0, NULL},
    {6, PB_BYTES, PB_SINGLE, offsetof(struct guest_exec_response, out), 0, NULL},
    {7, PB_BYTES, PB_SINGLE, offsetof(struct guest_exec_response, err), 0, NULL},
    {8, PB_UINT64, PB_SINGLE, offsetof(struct guest_exec_response, out_total), 0, NULL},
    {9, PB_UINT64, PB_SINGLE, offsetof(struct guest_exec_response, err_total), 0, NULL},
};
const struct pb_type guest_exec_response_type = {guest_exec_response_fields, 9, sizeof(struct guest_exec_response)};

static const struct pb_field guest_read_file_response_fields[] = {
    {1, PB_BYTES, PB_SINGLE, offsetof(struct guest_read_file_response, data), 0, NULL},
    {2, PB_UINT64, PB_SINGLE, offsetof(struct guest_read_file_response, file_size), 0, NULL},
    {3, PB_BOOL, PB_SINGLE, offsetof(struct guest_read_file_response, truncated), 0, NULL},
};
const struct pb_type guest_read_file_response_type = {guest_read_file_response_fields, 3, sizeof(struct guest_read_file_response)};

const struct pb_type guest_write_file_response_type = {NULL, 0, sizeof(struct guest_write_file_response)};

static const struct pb_field guest_dir_entry_fields[] = {
    {1, PB_STRING, PB_SINGLE, offsetof(struct guest_dir_entry, name), 0, NULL},
    {2, PB_ENUM, PB_SINGLE, offsetof(struct guest_dir_entry, kind), 0, NULL},
    {3, PB_UINT64, PB_SINGLE, offsetof(struct guest_dir_entry, size), 0, NULL},
    {4, PB_INT64, PB_SINGLE, offsetof(struct guest_dir_entry, mtime), 0, NULL},
};
const struct pb_type guest_dir_entry_type = {guest_dir_entry_fields, 4, sizeof(struct guest_dir_entry)};

static const struct pb_field guest_list_dir_response_fields[] = {
    {1, PB_MESSAGE, PB_REPEATED, offsetof(struct guest_list_dir_response, entries), 0, &guest_dir_entry_type},
    {2, PB_BOOL, PB_SINGLE, offsetof(struct guest_list_dir_response, truncated), 0, NULL},
};
const struct pb_type guest_list_dir_response_type = {guest_list_dir_response_fields, 2, sizeof(struct guest_list_dir_response)};

static const struct pb_field guest_stat_response_fields[] = {
    {1, PB_ENUM, PB_SINGLE, offsetof(struct guest_stat_response, kind), 0, NULL},
    {2, PB_UINT64, PB_SINGLE, offsetof(struct guest_stat_response, size), 0, NULL},
    {3, PB_UINT32, PB_SINGLE, offsetof(struct guest_stat_response, mode), 0, NULL},
    {4, PB_INT64, PB_SINGLE, offsetof(struct guest_stat_response, mtime), 0, NULL},
};
const struct pb_type guest_stat_response_type = {guest_stat_response_fields, 4, sizeof(struct guest_stat_response)};

const struct pb_type guest_mkdir_response_type = {NULL, 0, sizeof(struct guest_mkdir_response)};

const struct pb_type guest_remove_response_type = {NULL, 0, sizeof(struct guest_remove_response)};

static const struct pb_field guest_response_fields[] = {
    {2, PB_MESSAGE, PB_ONEOF, offsetof(struct guest_response, result.exec), offsetof(struct guest_response, result_case), &guest_exec_response_type},
    {3, PB_MESSAGE, PB_ONEOF, offsetof(struct guest_response, result.read_file), offsetof(struct guest_response, result_case), &guest_read_file_response_type},
    {4, PB_MESSAGE, PB_ONEOF, offsetof(struct guest_response, result.write_file), offsetof(struct guest_response, result_case), &guest_write_file_response_type},
    {5, PB_MESSAGE, PB_ONEOF, offsetof(struct guest_response, result.list_dir), offsetof(struct guest_response, result_case), &guest_list_dir_response_type},
    {6, PB_MESSAGE, PB_ONEOF, offsetof(struct guest_response, result.stat), offsetof(struct guest_response, result_case), &guest_stat_response_type},
    {7, PB_MESSAGE, PB_ONEOF, offsetof(struct guest_response, result.mkdir), offsetof(struct guest_response, result_case), &guest_mkdir_response_type},
    {8, PB_MESSAGE, PB_ONEOF, offsetof(struct guest_response, result.remove), offsetof(struct guest_response, result_case), &guest_remove_response_type},
};
const struct pb_type guest_response_type = {guest_response_fields, 7, sizeof(struct guest_response)};

static const struct pb_field error_response_fields[] = {
    {1, PB_SINT32, PB_SINGLE, offsetof(struct error_response, error_code), 0, NULL},
    {2, PB_STRING, PB_SINGLE, offsetof(struct error_response, message), 0, NULL},
};
const struct pb_type error_response_type = {error_response_fields, 2, sizeof(struct error_response)};

static const struct pb_field server_message_fields[] = {
    {1, PB_MESSAGE, PB_ONEOF, offsetof(struct server_message, response.create), offsetof(struct server_message, response_case), &create_response_type},
    {2, PB_MESSAGE, PB_ONEOF, offsetof(struct server_message, response.destroy), offsetof(struct server_message, response_case), &destroy_response_type},
    {3, PB_MESSAGE, PB_ONEOF, offsetof(struct server_message, response.pause), offsetof(struct server_message, response_case), &pause_response_type},
    {4, PB_MESSAGE, PB_ONEOF, offsetof(struct server_message, response.resume), offsetof(struct server_message, response_case), &resume_response_type},
    {5, PB_MESSAGE, PB_ONEOF, offsetof(struct server_message, response.inspect), offsetof(struct server_message, response_case), &inspect_response_type},
    {6, PB_MESSAGE, PB_ONEOF, offsetof(struct server_message, response.session_renew), offsetof(struct server_message, response_case), &session_renew_response_type},
    {7, PB_MESSAGE, PB_ONEOF, offsetof(struct server_message, response.guest), offsetof(struct server_message, response_case), &guest_response_type},
    {15, PB_MESSAGE, PB_ONEOF, offsetof(struct server_message, response.error), offsetof(struct server_message, response_case), &error_response_type},
    {100, PB_UINT64, PB_SINGLE, offsetof(struct server_message, request_id), 0, NULL},
};
const struct pb_type server_message_type = {server_message_fields, 9, sizeof(struct server_message)};
