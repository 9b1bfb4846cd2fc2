/* The structs of version 0.1 on a 64-bit machine: what a compiled program relies on. */
#include <libsandbox.h>

#define AT(type, member, offset) \
    _Static_assert(offsetof(type, member) == (offset), #type "." #member " has moved")
#define SIZE(type, size) _Static_assert(sizeof(type) == (size), #type " has another size")

/* In the seed's order. */
AT(sandbox_spec_t, memory_mib, 0);
AT(sandbox_spec_t, vcpu_count, 8);
AT(sandbox_spec_t, template_name, 16);
AT(sandbox_spec_t, env_vars, 24);
AT(sandbox_spec_t, pool_wait_ms, 32);
AT(sandbox_spec_t, session_key, 40);
AT(sandbox_spec_t, ttl_seconds, 48);
AT(sandbox_spec_t, egress_allow, 56);
AT(sandbox_spec_t, egress_deny_all, 64);
SIZE(sandbox_spec_t, 72);

AT(sandbox_status_t, sandbox_id, 0);
AT(sandbox_status_t, is_running, 4);
AT(sandbox_status_t, uptime_ms, 8);
AT(sandbox_status_t, memory_rss_mib, 16);
AT(sandbox_status_t, page_faults, 24);
SIZE(sandbox_status_t, 32);

AT(sandbox_exec_spec_t, argv, 0);
AT(sandbox_exec_spec_t, cwd, 8);
AT(sandbox_exec_spec_t, env, 16);
AT(sandbox_exec_spec_t, stdin_data, 24);
AT(sandbox_exec_spec_t, stdin_len, 32);
AT(sandbox_exec_spec_t, timeout_ms, 40);
AT(sandbox_exec_spec_t, max_output, 48);
AT(sandbox_exec_spec_t, flags, 56);
SIZE(sandbox_exec_spec_t, 64);

AT(sandbox_exec_result_t, exit_code, 0);
AT(sandbox_exec_result_t, term_signal, 4);
AT(sandbox_exec_result_t, timed_out, 8);
AT(sandbox_exec_result_t, output_truncated, 9);
AT(sandbox_exec_result_t, duration_ms, 16);
AT(sandbox_exec_result_t, out, 24);
AT(sandbox_exec_result_t, out_len, 32);
AT(sandbox_exec_result_t, out_total, 40);
AT(sandbox_exec_result_t, err, 48);
AT(sandbox_exec_result_t, err_len, 56);
AT(sandbox_exec_result_t, err_total, 64);
SIZE(sandbox_exec_result_t, 72);

AT(sandbox_dirent_t, name, 0);
AT(sandbox_dirent_t, type, 8);
AT(sandbox_dirent_t, size, 16);
AT(sandbox_dirent_t, mtime, 24);
SIZE(sandbox_dirent_t, 32);

AT(sandbox_fstat_t, type, 0);
AT(sandbox_fstat_t, size, 8);
AT(sandbox_fstat_t, mode, 16);
AT(sandbox_fstat_t, mtime, 24);
SIZE(sandbox_fstat_t, 32);

int layout;
