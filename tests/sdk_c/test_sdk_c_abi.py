"""What programs are built against: the header, the symbols, the layout of the structs."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.sdk_c.building import ROOT, c_programs
from tests.sdk_c.driving import run
from tests.sdk_c.frame_daemon import FrameDaemon
from tests.sdk_c.installing import Installed
from tools.codegen import c_reference

HEADER = ROOT / "sdk/c/include/libsandbox.h"
HERE = Path(__file__).parent

SEED_NAMES = """
sandbox_handle_t sandbox_spec_t sandbox_status_t sandbox_error_t sandbox_exec_spec_t
sandbox_exec_result_t sandbox_dirent_t sandbox_fstat_t
memory_mib vcpu_count template_name env_vars pool_wait_ms session_key ttl_seconds egress_allow
egress_deny_all sandbox_id is_running uptime_ms memory_rss_mib page_faults
timed_out output_truncated out_total err_total
SANDBOX_WRITE_EXCL
sandbox_init sandbox_create sandbox_pause sandbox_resume sandbox_destroy sandbox_inspect
sandbox_session_renew sandbox_error_string sandbox_cleanup
sandbox_exec sandbox_exec_result_free sandbox_read_file sandbox_write_file sandbox_list_dir
sandbox_stat sandbox_mkdir sandbox_remove
"""

SEED_FUNCTIONS = """
sandbox_error_t sandbox_init(const char* socket_path);
sandbox_error_t sandbox_create(const sandbox_spec_t* spec, sandbox_handle_t** out_handle);
sandbox_error_t sandbox_pause(sandbox_handle_t* handle);
sandbox_error_t sandbox_resume(sandbox_handle_t* handle);
sandbox_error_t sandbox_destroy(sandbox_handle_t* handle);
sandbox_error_t sandbox_inspect(sandbox_handle_t* handle, sandbox_status_t* out_status);
sandbox_error_t sandbox_session_renew(const char* session_key,
                                      uint32_t extra_seconds,
                                      uint64_t* out_expires_at);
const char* sandbox_error_string(sandbox_error_t code);
void            sandbox_cleanup(void);
sandbox_error_t sandbox_exec(sandbox_handle_t*, const sandbox_exec_spec_t*, sandbox_exec_result_t*);
void            sandbox_exec_result_free(sandbox_exec_result_t*);
sandbox_error_t sandbox_read_file(sandbox_handle_t*, const char* path, uint8_t** data, size_t* len);
sandbox_error_t sandbox_write_file(sandbox_handle_t*, const char* path, const uint8_t* data,
                                   size_t len, uint32_t mode, uint32_t flags);
sandbox_error_t sandbox_list_dir(sandbox_handle_t*, const char* path, sandbox_dirent_t** entries,
                                 size_t* count, bool* truncated);
sandbox_error_t sandbox_stat(sandbox_handle_t*, const char* path, sandbox_fstat_t*);
sandbox_error_t sandbox_mkdir(sandbox_handle_t*, const char* path, uint32_t mode, bool parents);
sandbox_error_t sandbox_remove(sandbox_handle_t*, const char* path, bool recursive);
"""

STRICT = ["-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]


def compiles(source: str, *command: str) -> None:
    """Compile a text and fail with what the compiler said."""
    done = subprocess.run(
        [*command, *STRICT, f"-I{HEADER.parent}", "-c", "-", "-o", "/dev/null"],
        input=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def told(*command: str | Path) -> str:
    """What a tool of binutils prints."""
    argv = [str(word) for word in command]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


# --- the header ----------------------------------------------------------------------------

LANGUAGES = [
    pytest.param(compiler, language, standard, id=f"{compiler} {standard}")
    for compiler in ("gcc", "clang")
    for language, standard in (
        ("c", "c99"),
        ("c", "c11"),
        ("c", "c17"),
        ("c++", "c++17"),
        ("c++", "c++20"),
    )
]


@pytest.mark.parametrize("name", SEED_NAMES.split())
def test_the_header_has_every_name_of_the_seed(name: str) -> None:
    assert re.search(rf"\b{name}\b", HEADER.read_text())


@pytest.mark.parametrize(("compiler", "language", "standard"), LANGUAGES)
def test_the_header_compiles_alone_and_has_the_seed_s_prototypes(
    compiler: str, language: str, standard: str
) -> None:
    """Declared anew in the seed's words: a difference would be a conflict."""
    again = "#define SANDBOX_NO_SIZED_CALLS\n#include <libsandbox.h>\n"
    linkage = f'extern "C" {{{SEED_FUNCTIONS}}}' if language == "c++" else SEED_FUNCTIONS
    command = [compiler, f"-std={standard}", "-x", language]
    compiles("#include <libsandbox.h>\n#include <libsandbox.h>\nint here;\n", *command)
    compiles(again + linkage, *command)


@pytest.mark.parametrize(("compiler", "language", "standard"), LANGUAGES)
def test_the_macros_are_calls_like_any_other(compiler: str, language: str, standard: str) -> None:
    source = (HERE / "c/uses_everything.c").read_text()
    compiles(source, compiler, f"-std={standard}", "-x", language)


def test_every_function_says_what_it_does() -> None:
    text = HEADER.read_text()
    declared = text[: text.index(" * How structs grow.")]
    for match in re.finditer(r"^SANDBOX_API [^;]*?(\w+)\(", declared, re.MULTILINE):
        assert declared[: match.start()].rstrip().endswith("*/"), match[1]


def test_the_reference_page_is_what_the_header_says() -> None:
    assert c_reference.PAGE.read_text() == c_reference.render(HEADER.read_text())


# --- the structs ---------------------------------------------------------------------------


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_layout_is_what_it_was(compiler: str) -> None:
    compiles((HERE / "c/layout.c").read_text(), compiler, "-std=c11", "-x", "c")


@pytest.mark.parametrize("flavour", ["plain", "asan"])
async def test_a_program_of_an_older_header_still_works(daemon: FrameDaemon, flavour: str) -> None:
    assert await run(c_programs(flavour) / "old_program", daemon.path) == "ok\n"


@pytest.mark.parametrize("flavour", ["plain", "asan"])
async def test_a_program_of_a_newer_header_is_told_what_is_not_known(
    daemon: FrameDaemon, flavour: str
) -> None:
    assert await run(c_programs(flavour) / "newer_program", daemon.path) == "ok\n"


# --- the libraries -------------------------------------------------------------------------


def test_the_shared_library_exports_what_was_agreed_and_nothing_else(
    installed: Installed,
) -> None:
    listing = told("nm", "-D", "--defined-only", installed.library / "libsandbox.so")
    assert [line.split()[-1] for line in listing.splitlines()] == symbols("libsandbox.txt")


def test_the_archive_has_the_same_names_and_no_others(installed: Installed) -> None:
    listing = told("nm", "-g", "--defined-only", installed.library / "libsandbox.a")
    names = [line.split()[-1] for line in listing.splitlines() if " " in line]
    agreed = [name.split("@")[0] for name in symbols("libsandbox.txt")[1:]]
    assert sorted(names) == agreed


def test_the_cpp_library_exports_what_was_agreed_and_nothing_else(installed: Installed) -> None:
    listing = told("nm", "-D", "--defined-only", installed.library / "libsandbox++.so")
    names = sorted(line.split()[-1] for line in listing.splitlines())
    assert names == symbols("libsandbox++.txt")


def symbols(name: str) -> list[str]:
    """A committed list; a release only ever adds to it."""
    return (HERE / "symbols" / name).read_text().splitlines()


def dynamic(library: Path, tag: str) -> list[str]:
    """Entries of a library's dynamic section."""
    return re.findall(rf"\({tag}\).*\[(.*)\]", told("readelf", "-d", "-W", library))


def test_names_and_needs(installed: Installed) -> None:
    c, cpp = installed.library / "libsandbox.so", installed.library / "libsandbox++.so"
    assert dynamic(c, "SONAME") == ["libsandbox.so.0"]
    assert dynamic(c, "NEEDED") == ["libc.so.6"]
    assert dynamic(cpp, "SONAME") == ["libsandbox++.so.0"]
    assert "libsandbox.so.0" in dynamic(cpp, "NEEDED")
    assert dynamic(c, "RUNPATH") == dynamic(cpp, "RUNPATH") == []


def test_clang_has_nothing_to_say(tmp_path: Path) -> None:
    make = ["make", "-s", "-j2", "-C", str(ROOT / "sdk/cpp"), "CC=clang", "CXX=clang++"]
    told(*make, f"BUILD={tmp_path}/cpp", f"C_BUILD={tmp_path}/c")


def test_the_archive_fits_into_a_shared_object(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "plugin.c").write_text(
        '#include <libsandbox.h>\nint plug(void);\nint plug(void) { return sandbox_init("x"); }\n'
    )
    parts = (tmp_path / "plugin.c", installed.library / "libsandbox.a")
    command = ["gcc", "-shared", "-fPIC", "-Wl,-z,text", f"-I{HEADER.parent}"]
    told(*command, *parts, "-o", tmp_path / "plugin.so")
