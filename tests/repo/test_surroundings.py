"""Rules about what the repository may know: no registry, no one's machine, pinned packages."""

from __future__ import annotations

import re
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Written with blanks and without the slash, so that this file obeys its own rule.
REGISTRIES = [
    host.replace(" ", ".")
    for host in (
        "pypi org",
        "pythonhosted org",
        "deb debian org",
        "security debian org",
        "crates io",
        "npmjs org",
        "proxy golang org",
        "repo maven apache org",
        "repo1 maven org",
        "docker io",
        "quay io",
    )
]
MACHINES = [f"/{folder}/" for folder in ("work", "home")] + [f"/{'opt'}/wheels"]
PIN = re.compile(r"^(?P<name>[a-z0-9][a-z0-9.-]*)==(?P<version>[0-9][A-Za-z0-9.+!-]*)$")


def text_of(path: Path) -> str:
    try:
        return path.read_text()
    except UnicodeDecodeError:
        return ""  # a binary vector


def holders(words: list[str], paths: list[Path]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}: {word}"
        for path in paths
        for word in words
        if word in text_of(path)
    ]


def requirement_names() -> set[str]:
    """Every distribution asked for by a file of this repository."""
    wanted = (ROOT / "requirements-dev.in").read_text().splitlines()
    for project in ROOT.glob("**/pyproject.toml"):
        if any(part.startswith(".") or part == "node_modules" for part in project.parts):
            continue
        table = tomllib.loads(project.read_text())
        wanted += table.get("project", {}).get("dependencies", [])
        wanted += table.get("build-system", {}).get("requires", [])
    names = (re.split(r"[^A-Za-z0-9._-]", line, maxsplit=1)[0] for line in wanted)
    return {name.lower().replace("_", "-") for name in names if name}


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    found = {line: PIN.match(line) for line in lines if line and not line.startswith("#")}
    assert all(found.values()), [line for line, match in found.items() if not match]
    return {match["name"]: match["version"] for match in found.values() if match}


def test_no_file_names_a_package_registry(tracked: list[Path]) -> None:
    assert not holders(REGISTRIES, tracked)


def test_no_file_names_somebodys_machine(tracked: list[Path]) -> None:
    assert not holders(MACHINES, tracked)


def test_every_python_requirement_is_pinned() -> None:
    own = {"sandbox-engine", "sandbox-guest", "sandbox-proto", "sandbox-sdk", "sandbox-broker"}
    assert not requirement_names() - pins().keys() - own


def test_what_is_installed_is_what_is_pinned() -> None:
    installed = {
        dist.name.lower().replace("_", "-"): dist.version for dist in metadata.distributions()
    }
    differing = {
        name: (version, installed[name])
        for name, version in pins().items()
        if name in installed and installed[name] != version
    }
    assert not differing


def test_pins_and_packages_are_sorted_one_a_line() -> None:
    for name in ("constraints.txt", "tools/setup/apt-packages.txt", "requirements-dev.in"):
        lines = (ROOT / name).read_text().splitlines()
        entries = [line.split("==")[0] for line in lines if line and not line.startswith("#")]
        assert entries == sorted(set(entries)), name


def test_uv_is_pinned() -> None:
    assert PIN.match((ROOT / "tools/setup/uv.txt").read_text().strip())


LOCKS = {"uv.lock", "poetry.lock", "package-lock.json", "Cargo.lock"}


def test_no_lock_file_with_registry_addresses_is_tracked(tracked: list[Path]) -> None:
    assert not [path for path in tracked if path.name in LOCKS]


def test_every_target_of_the_makefile_explains_itself() -> None:
    makefile = (ROOT / "Makefile").read_text()
    phony = {
        name
        for line in re.findall(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
        for name in line.split()
    }
    explained = set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE))
    assert phony - explained == {"conformance-at-hand"}


def test_ci_runs_the_target_people_run() -> None:
    script = ROOT / ".ci/run"
    assert script.stat().st_mode & 0o111
    assert script.read_text().rstrip().endswith("exec make test")


def test_nothing_a_build_makes_is_tracked(tracked: list[Path]) -> None:
    ignored = subprocess.run(
        ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert not ignored
