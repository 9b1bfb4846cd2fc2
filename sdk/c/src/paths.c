/* What is there: list, stat, mkdir, remove. */
#include <stdlib.h>
#include <string.h>

#include "guest.h"
#include "sized.h"

static sandbox_file_type_t type_of(int32_t kind)
{
    switch (kind) { /* the numbers are the same; a new kind must not reach a program as one */
    case FILE_KIND_FILE:
        return SANDBOX_FILE_REGULAR;
    case FILE_KIND_DIRECTORY:
        return SANDBOX_FILE_DIRECTORY;
    case FILE_KIND_SYMLINK:
        return SANDBOX_FILE_SYMLINK;
    case FILE_KIND_OTHER:
        return SANDBOX_FILE_OTHER;
    default:
        return SANDBOX_FILE_UNKNOWN;
    }
}

/* ---- list --------------------------------------------------------------------------------- */

/** A listing in one block: the caller's structs, then the names. */
struct listing {
    char* block;
    size_t entry_size;
    char* name; /* where the next one goes */
};

/* Every entry is checked here, so that the second pass cannot fail.  Adds up the names. */
static bool measure_names(const struct pb_list* list, size_t* size)
{
    struct pb_view rest = list->raw, bytes;
    *size = 0;
    while (pb_list_next(list, &rest, &bytes)) {
        struct guest_dir_entry entry;
        if (!pb_read(&guest_dir_entry_type, &entry, bytes)) {
            return false;
        }
        *size += entry.name.len + 1;
    }
    return true;
}

static void add_entry(struct listing* listing, size_t i, struct pb_view bytes)
{
    struct guest_dir_entry entry;
    (void)pb_read(&guest_dir_entry_type, &entry, bytes);
    sandbox_dirent_t known = {.name = listing->name,
                              .type = type_of(entry.kind),
                              .size = entry.size,
                              .mtime = entry.mtime};
    if (entry.name.len) {
        memcpy(listing->name, entry.name.data, entry.name.len);
    }
    listing->name[entry.name.len] = 0;
    listing->name += entry.name.len + 1;
    sized_write(listing->block + i * listing->entry_size, listing->entry_size, &known,
                sizeof known);
}

static sandbox_error_t take_entries(struct listing* listing, const struct pb_list* list)
{
    struct pb_view rest = list->raw, bytes;
    size_t names, i = 0;
    if (!measure_names(list, &names)) {
        return SANDBOX_ERR_INTERNAL;
    }
    listing->block = malloc(list->count * listing->entry_size + names + 1);
    if (!listing->block) {
        return SANDBOX_ERR_INTERNAL;
    }
    listing->name = listing->block + list->count * listing->entry_size;
    while (pb_list_next(list, &rest, &bytes)) {
        add_entry(listing, i++, bytes);
    }
    return SANDBOX_OK;
}

sandbox_error_t sandbox_list_dir_sized(sandbox_handle_t* handle, const char* path,
                                       sandbox_dirent_t** entries, size_t entry_size,
                                       size_t* count, bool* truncated)
{
    struct guest_call call;
    struct listing listing = {.entry_size = entry_size};
    if (!entries || !count) {
        return SANDBOX_ERR_INVALID_SPEC;
    }
    *entries = NULL;
    *count = 0;
    sandbox_error_t status = guest_begin(&call, handle, path);
    if (status) {
        return status;
    }
    call.request->operation.list_dir.path = pb_string(path);
    status = guest_ask(&call, GUEST_REQUEST_LIST_DIR);
    const struct guest_list_dir_response* listed = &call.response.result.list_dir;
    if (!status) {
        status = take_entries(&listing, &listed->entries);
    }
    if (!status) {
        *entries = (sandbox_dirent_t*)(void*)listing.block;
        *count = listed->entries.count;
        if (truncated) {
            *truncated = listed->truncated;
        }
    }
    guest_end(&call);
    return status;
}

sandbox_error_t sandbox_list_dir(sandbox_handle_t* handle, const char* path,
                                 sandbox_dirent_t** entries, size_t* count, bool* truncated)
{
    return sandbox_list_dir_sized(handle, path, entries, END_OF(sandbox_dirent_t, mtime), count,
                                  truncated);
}

/* ---- the rest ----------------------------------------------------------------------------- */

sandbox_error_t sandbox_stat_sized(sandbox_handle_t* handle, const char* path,
                                   sandbox_fstat_t* out_stat, size_t stat_size)
{
    struct guest_call call;
    if (!out_stat) {
        return SANDBOX_ERR_INVALID_SPEC;
    }
    sandbox_error_t status = guest_begin(&call, handle, path);
    if (status) {
        return status;
    }
    call.request->operation.stat.path = pb_string(path);
    status = guest_ask(&call, GUEST_REQUEST_STAT);
    if (!status) {
        const struct guest_stat_response* seen = &call.response.result.stat;
        sandbox_fstat_t known = {.type = type_of(seen->kind),
                                 .size = seen->size,
                                 .mode = seen->mode,
                                 .mtime = seen->mtime};
        sized_write(out_stat, stat_size, &known, sizeof known);
    }
    guest_end(&call);
    return status;
}

sandbox_error_t sandbox_stat(sandbox_handle_t* handle, const char* path, sandbox_fstat_t* out_stat)
{
    return sandbox_stat_sized(handle, path, out_stat, END_OF(sandbox_fstat_t, mtime));
}

sandbox_error_t sandbox_mkdir(sandbox_handle_t* handle, const char* path, uint32_t mode,
                              bool parents)
{
    struct guest_call call;
    sandbox_error_t status = guest_begin(&call, handle, path);
    if (status) {
        return status;
    }
    call.request->operation.mkdir.path = pb_string(path);
    call.request->operation.mkdir.mode = mode;
    call.request->operation.mkdir.parents = parents;
    status = guest_ask(&call, GUEST_REQUEST_MKDIR);
    guest_end(&call);
    return status;
}

sandbox_error_t sandbox_remove(sandbox_handle_t* handle, const char* path, bool recursive)
{
    struct guest_call call;
    sandbox_error_t status = guest_begin(&call, handle, path);
    if (status) {
        return status;
    }
    call.request->operation.remove.path = pb_string(path);
    call.request->operation.remove.recursive = recursive;
    status = guest_ask(&call, GUEST_REQUEST_REMOVE);
    guest_end(&call);
    return status;
}
