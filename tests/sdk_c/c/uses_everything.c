/* Compiled in every language and by every compiler: each function called as the seed writes it. */
#include <libsandbox.h>

#include <stdlib.h>

int use_everything(void);

int use_everything(void)
{
    sandbox_handle_t* handle = NULL;
    sandbox_spec_t spec;
    sandbox_status_t status;
    sandbox_exec_spec_t exec_spec;
    sandbox_exec_result_t result;
    sandbox_dirent_t* entries = NULL;
    sandbox_fstat_t found;
    uint8_t* data = NULL;
    uint64_t ends = 0;
    size_t len = 0, count = 0;
    bool truncated = false;
    int bad = 0;
    const char* env[] = {"A=1", NULL};
    const char* argv[] = {"true", NULL};
    sandbox_error_t (*create)(const sandbox_spec_t*, sandbox_handle_t**) = sandbox_create;
    spec.template_name = "base";
    spec.env_vars = env;
    exec_spec.argv = argv;
    exec_spec.flags = SANDBOX_EXEC_SHELL;
    bad += sandbox_init("/absent");
    bad += sandbox_create(&spec, &handle);
    bad += create(&spec, &handle);
    bad += sandbox_pause(handle) + sandbox_resume(handle);
    bad += sandbox_inspect(handle, &status);
    bad += sandbox_session_renew("key", 60, &ends);
    bad += sandbox_exec(handle, &exec_spec, &result);
    sandbox_exec_result_free(&result);
    bad += sandbox_read_file(handle, "/workspace/f", &data, &len);
    bad += sandbox_write_file(handle, "/workspace/f", data, len, 0644, SANDBOX_WRITE_EXCL);
    bad += sandbox_list_dir(handle, "/workspace", &entries, &count, &truncated);
    bad += sandbox_stat(handle, "/workspace", &found);
    bad += sandbox_mkdir(handle, "/workspace/d", 0755, true);
    bad += sandbox_remove(handle, "/workspace/d", true);
    bad += sandbox_destroy(handle);
    sandbox_cleanup();
    return bad + (sandbox_error_string(SANDBOX_OK) == NULL);
}
