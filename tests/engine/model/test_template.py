"""Names, sources, requests and manifests of templates."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sandbox_engine.errors import InvalidArgument
from sandbox_engine.model.template import (
    DISK_MIB,
    FORMAT,
    MAGIC,
    MAX_INCLUDE,
    MAX_WARMUP_BYTES,
    MAX_WARMUP_WORDS,
    MEMORY_MIB,
    VCPUS,
    BuildRequest,
    FileDigest,
    Manifest,
    ManifestInvalid,
    ManifestUnknown,
    Platform,
    Source,
    SourceKind,
    check_name,
    compatibility,
    decode_manifest,
    encode_manifest,
    file_to_name,
    manifest_digest,
    name_to_file,
)

NAMES = st.from_regex(r"[a-zA-Z0-9][a-zA-Z0-9._:/-]{0,62}", fullmatch=True)


@given(NAMES)
def test_a_name_is_one_safe_path_component_and_comes_back(name: str) -> None:
    component = name_to_file(check_name(name))
    assert "/" not in component
    assert component[0] not in "./"
    assert len(component) < 256
    assert file_to_name(component) == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", "-a", "/etc", "a b", "a\0", "a\n", "é", "a" * 64, "a%2F"]
)
def test_what_is_no_name_is_refused_with_its_field(name: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        check_name(name, "spec.template")
    assert caught.value.field == "spec.template"


def test_a_name_of_63_characters_is_the_longest() -> None:
    assert check_name("a" * 63)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("debian:bookworm", SourceKind.DEBIAN, "bookworm"),
        ("tar:/images/root:1.tar.gz", SourceKind.TAR, "/images/root:1.tar.gz"),
        ("dir:/srv/tree", SourceKind.DIR, "/srv/tree"),
    ],
)
def test_a_source_is_read_and_written(text: str, kind: SourceKind, value: str) -> None:
    source = Source.parse(text)
    assert (source.kind, source.value) == (kind, value)
    assert str(source) == text


@pytest.mark.parametrize(
    "text",
    [
        "", "bookworm", "debian:", "debian:../x", "debian:-o", "tar:relative.tar", "dir:", "dir:.",
        "tar:/a\0b", "dir:/" + "a" * 4095, "docker:debian", "DEBIAN:bookworm",
    ],
)  # fmt: skip
def test_what_is_no_source_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        Source.parse(text, "source")
    assert caught.value.field == "source"


def request(**fields: Any) -> BuildRequest:
    return BuildRequest(**{"name": "base", "source": "debian:bookworm", **fields})


@pytest.mark.parametrize(
    ("field", "limits"),
    [("memory_mib", MEMORY_MIB), ("vcpus", VCPUS), ("disk_mib", DISK_MIB)],
)
def test_sizes_have_two_sides(field: str, limits: tuple[int, int]) -> None:
    low, high = limits
    for value in limits:
        assert getattr(request(**{field: value}), field) == value
    for value in (low - 1, high + 1, 0, -1):
        with pytest.raises(InvalidArgument) as caught:
            request(**{field: value})
        assert caught.value.field == field


@pytest.mark.parametrize("package", ["git", "g++", "libc6", "python3.11-minimal", "a0"])
def test_debian_package_names_are_taken(package: str) -> None:
    assert request(include=(package,)).include == (package,)


@pytest.mark.parametrize("package", ["", "a", "-o", "Git", "a b", "a,b", "a/../b", "git=1", "+a"])
def test_what_is_no_package_name_is_refused(package: str) -> None:
    with pytest.raises(InvalidArgument, match="include"):
        request(include=(package,))


def test_packages_are_counted_and_need_a_suite() -> None:
    assert request(include=("git",) * MAX_INCLUDE)
    with pytest.raises(InvalidArgument, match="include"):
        request(include=("git",) * (MAX_INCLUDE + 1))
    with pytest.raises(InvalidArgument, match="include"):
        request(source="dir:/srv", include=("git",))


@pytest.mark.parametrize(
    "warmup",
    [
        pytest.param(("x",) * (MAX_WARMUP_WORDS + 1), id="words"),
        pytest.param(("x" * (MAX_WARMUP_BYTES + 1),), id="bytes"),
        pytest.param(("", "x"), id="no program"),
        pytest.param(("x", "a\0b"), id="a NUL"),
    ],
)
def test_a_warmup_that_cannot_run_is_refused(warmup: tuple[str, ...]) -> None:
    with pytest.raises(InvalidArgument, match="warmup"):
        request(warmup=warmup)


def test_a_warmup_at_its_limits_is_taken() -> None:
    assert request(warmup=("x",) * MAX_WARMUP_WORDS)
    assert request(warmup=("x" * MAX_WARMUP_BYTES,))
    assert request(warmup=("sh", "-c", ""))


def test_a_request_read_from_json_is_checked_too() -> None:
    with pytest.raises(InvalidArgument, match="vcpus"):
        msgspec.json.decode(b'{"name":"a","source":"dir:/","vcpus":33}', type=BuildRequest)
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"name":"a","source":"dir:/","cpus":1}', type=BuildRequest)


# -- manifests -------------------------------------------------------------------

DIGESTS = st.builds(
    FileDigest, sha256=st.from_regex(r"[0-9a-f]{64}", fullmatch=True), size=st.integers(0, 1 << 50)
)
PLATFORMS = st.builds(Platform, vmm=st.text(), machine=st.text(), cpu=st.text())
MANIFESTS = st.builds(
    Manifest,
    name=NAMES,
    memory=DIGESTS,
    vmstate=DIGESTS,
    rootfs=DIGESTS,
    overlay=DIGESTS,
    kernel=DIGESTS,
    initramfs=DIGESTS,
    agent_disk=DIGESTS,
    platform=PLATFORMS,
    kernel_release=st.text(),
    kernel_package=st.text(),
    agent_protocol=st.integers(0, 1 << 30),
    agent_version=st.text(),
    memory_mib=st.integers(*MEMORY_MIB),
    vcpus=st.integers(*VCPUS),
    disk_mib=st.integers(*DISK_MIB),
    source=st.text(),
    include=st.lists(st.text(), max_size=3).map(tuple),
    warmup=st.lists(st.text(), max_size=3).map(tuple),
    inputs=st.text(),
    created_at=st.datetimes(timezones=st.just(UTC)),
)
SAMPLE = Manifest(
    name="base",
    memory=FileDigest(sha256="0" * 64, size=1),
    vmstate=FileDigest(sha256="1" * 64, size=2),
    rootfs=FileDigest(sha256="2" * 64, size=3),
    overlay=FileDigest(sha256="3" * 64, size=4),
    kernel=FileDigest(sha256="4" * 64, size=5),
    initramfs=FileDigest(sha256="5" * 64, size=6),
    agent_disk=FileDigest(sha256="6" * 64, size=7),
    platform=Platform(vmm="qemu 7.2", machine="microvm/1", cpu="tcg:Nehalem"),
    kernel_release="6.1.0",
    kernel_package="6.1.192-3",
    agent_protocol=1,
    agent_version="0.1.0",
    memory_mib=256,
    vcpus=1,
    disk_mib=1024,
    source="debian:bookworm",
    include=("git",),
    warmup=(),
    inputs="7" * 64,
    created_at=datetime(2026, 1, 1, tzinfo=UTC),
)
ENCODED = encode_manifest(SAMPLE)


@given(MANIFESTS)
def test_a_manifest_comes_back(manifest: Manifest) -> None:
    data = encode_manifest(manifest)
    assert decode_manifest(data) == manifest
    assert encode_manifest(decode_manifest(data)) == data


@given(st.integers(0, len(ENCODED) - 1), st.integers(1, 255))
def test_any_changed_byte_is_noticed(at: int, change: int) -> None:
    data = bytearray(ENCODED)
    data[at] ^= change
    with pytest.raises(ManifestInvalid):
        decode_manifest(bytes(data))


@given(st.integers(0, len(ENCODED) - 1))
def test_any_truncation_is_noticed(length: int) -> None:
    with pytest.raises(ManifestInvalid):
        decode_manifest(ENCODED[:length])


@given(st.binary(max_size=200))
def test_garbage_is_no_manifest(data: bytes) -> None:
    for candidate in (data, MAGIC + data):
        with pytest.raises(ManifestInvalid):
            decode_manifest(candidate)


def signed(body: bytes) -> bytes:
    return MAGIC + body + hashlib.sha256(MAGIC + body).digest()


def test_another_format_is_told_from_damage() -> None:
    with pytest.raises(ManifestUnknown, match=f"{FORMAT + 1}.*{FORMAT}"):
        decode_manifest(signed(b'{"format":%d,"anything":[]}' % (FORMAT + 1)))


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"{}", b'{"format":1}', b'{"format":"1"}'])
def test_an_intact_wrapping_of_nonsense_is_refused(body: bytes) -> None:
    with pytest.raises(ManifestInvalid):
        decode_manifest(signed(body))


def test_its_digest_names_the_very_bytes() -> None:
    assert manifest_digest(ENCODED) == f"sha256:{hashlib.sha256(ENCODED).hexdigest()}"


def test_what_matches_is_compatible() -> None:
    assert compatibility(SAMPLE, SAMPLE.platform, 1) == []


@pytest.mark.parametrize(
    ("change", "protocol", "words"),
    [
        ({"vmm": "qemu 8.0"}, 1, ("VMM", "qemu 7.2", "qemu 8.0")),
        ({"machine": "microvm/2"}, 1, ("machine", "microvm/1", "microvm/2")),
        ({"cpu": "kvm:host"}, 1, ("CPU", "tcg:Nehalem", "kvm:host")),
        ({}, 2, ("agent protocol", "1", "2")),
    ],
)
def test_each_difference_is_put_into_words(
    change: dict[str, str], protocol: int, words: tuple[str, ...]
) -> None:
    platform = msgspec.structs.replace(SAMPLE.platform, **change)
    (difference,) = compatibility(SAMPLE, platform, protocol)
    assert all(word in difference for word in words)
