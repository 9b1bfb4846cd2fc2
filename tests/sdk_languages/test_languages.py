"""Every language's SDK plays the one scenario and runs its quick start, on one live engine."""

from __future__ import annotations

import json
import os
import re
import shutil
import tomllib
import warnings
from pathlib import Path

import pytest

from tests.sdk_languages.languages import LANGUAGES, ROOT, Language, build, run
from tests.support.engine import Engine

SCENARIO = ROOT / "tests/conformance/scenario.yaml"
STEP = re.compile(r"^  - step: (\w+)$", re.MULTILINE)
FENCE = re.compile(r"^```\w+\n(.*?)^```$", re.DOTALL | re.MULTILINE)
AT_HAND = [language for language in LANGUAGES if language.at_hand]
LEFT_OUT = [language.name for language in LANGUAGES if not language.at_hand]

pytestmark = pytest.mark.timeout(900)
"""Against hanging: a first build of a language on a busy machine takes minutes."""

languages = pytest.mark.parametrize("language", AT_HAND, ids=lambda one: one.name)


def test_no_language_is_left_out() -> None:
    """A missing toolchain is one line here, and a failure where CI promises all of them."""
    if LEFT_OUT:
        warnings.warn(f"no toolchain, scenario left out: {', '.join(LEFT_OUT)}", stacklevel=1)
    assert not (LEFT_OUT and os.environ.get("CI") == "true")


@languages
def test_it_builds(language: Language) -> None:
    """In the lane without VMs, so that the other one finds its programs."""
    build(language)
    for program in (language.scenario[0], language.quick_start[0]):
        assert shutil.which(program), f"the build left no {program}"


@pytest.mark.vm
@languages
def test_the_scenario(language: Language, shared_engine: Engine) -> None:
    build(language)
    wanted = [f"ok {step}" for step in STEP.findall(SCENARIO.read_text())]
    said = run(language, language.scenario, SANDBOX_GRPC_SOCKET=str(shared_engine.grpc_socket))
    assert said.splitlines() == wanted


@pytest.mark.vm
@languages
def test_the_quick_start(language: Language, shared_engine: Engine) -> None:
    build(language)
    socket = str(shared_engine.grpc_socket)
    assert run(language, language.quick_start, SANDBOX_GRPC_SOCKET=socket) == (
        "hello world\nexit 0\n"
    )


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda one: one.name)
def test_the_quick_start_in_the_docs_is_the_one_that_ran(language: Language) -> None:
    page = (ROOT / f"docs/sdk-{language.name}.md").read_text()
    source = (language.folder / language.quick_start_source).read_text()
    assert source in FENCE.findall(page)


def test_the_packages_have_the_version_of_the_python_sdk() -> None:
    def text(name: str) -> str:
        return (Path(ROOT) / name).read_text()

    version = tomllib.loads(text("sdk/python/pyproject.toml"))["project"]["version"]
    assert json.loads(text("sdk/typescript/package.json"))["version"] == version
    assert f'const Version = "{version}"' in text("sdk/go/sandbox.go")
    assert tomllib.loads(text("sdk/rust/Cargo.toml"))["package"]["version"] == version
    assert f"<version>{version}</version>" in text("sdk/java/pom.xml")
    defined = f'define SANDBOX_GRPC_VERSION "{version}"'
    assert defined in text("sdk/cpp/grpc/include/sandbox_grpc.hpp")
