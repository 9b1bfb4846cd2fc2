"""The C codec against Python's: the vectors, and whatever hypothesis thinks of."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from typing import Any

import pytest
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.json_format import ParseDict
from google.protobuf.message import DecodeError, Message
from hypothesis import given, settings
from hypothesis import strategies as st
from sandbox.v1 import legacy_pb2 as pb

from tests.sdk_c.building import ROOT, c_programs
from tests.sdk_c.driving import Driver, Operation, op
from tests.sdk_c.frame_daemon import FrameDaemon
from tools.codegen import c_messages

VECTORS = json.loads((ROOT / "tests/vectors/legacy_frames.json").read_text())
TYPES: dict[str, type[Message]] = {"client": pb.ClientMessage, "server": pb.ServerMessage}
F = FieldDescriptor


def test_the_tables_are_what_the_proto_says() -> None:
    for name, text in c_messages.generate(c_messages.load()).items():
        assert (c_messages.OUTPUT / name).read_text() == text


# --- vectors -------------------------------------------------------------------------------


def vectors(side: str) -> list[Any]:
    """The rows of one side: frame without its length, and meaning."""
    return [
        pytest.param(bytes.fromhex(row["frame"]), row["message"], id=row["name"])
        for row in VECTORS[side]
    ]


def c_codec(side: str, bodies: Iterable[bytes]) -> list[str]:
    """What `wire_tool.c` answers for each body."""
    lines = "".join(f"{side} {body.hex()}\n" for body in bodies)
    tool = c_programs("asan") / "wire_tool"
    done = subprocess.run([tool], input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def spelled(message: Message) -> str:
    """A message as `wire_tool.c` spells it."""
    text = ""
    fields: Any = message.DESCRIPTOR.fields
    for field in sorted(fields, key=lambda f: int(f.number)):
        value = getattr(message, field.name)
        if field.is_repeated:
            text += "".join(f"{field.number}:{spelled_value(field, one)}," for one in value)
        elif message.HasField(field.name) if field.containing_oneof else value:
            text += f"{field.number}:{spelled_value(field, value)},"
    return "{" + text + "}"


def spelled_value(field: FieldDescriptor, value: Any) -> str:
    """One value of a field."""
    if field.type == F.TYPE_MESSAGE:
        return spelled(value)
    if field.type == F.TYPE_STRING:
        return str(value.encode().hex())
    return str(value.hex() if field.type == F.TYPE_BYTES else int(value))


@pytest.mark.parametrize("side", ["client", "server"])
def test_vectors_in_both_directions_in_both_languages(side: str) -> None:
    bodies = [bytes.fromhex(row["frame"])[4:] for row in VECTORS[side]]
    for row, body, answer in zip(VECTORS[side], bodies, c_codec(side, bodies), strict=True):
        meaning = ParseDict(row["message"], TYPES[side]())
        assert int(row["frame"][:8], 16) == len(body)
        assert TYPES[side].FromString(body) == meaning, row["name"]
        assert meaning.SerializeToString() == body, row["name"]
        assert answer == f"{spelled(meaning)} {body.hex()}", row["name"]


def test_what_is_no_message_is_refused_by_both() -> None:
    rows = {row["name"]: bytes.fromhex(row["frame"])[4:] for row in VECTORS["malformed_client"]}
    bodies = [rows["no message"], rows["a message cut short"]]
    assert c_codec("client", bodies) == ["bad", "bad"]
    for body in bodies:
        with pytest.raises(DecodeError):
            pb.ClientMessage.FromString(body)


CALLS = [
    pytest.param(
        "create, every field",
        op(
            "create",
            memory=512,
            vcpus=2,
            template="python-agent",
            env=["GREETING=hello", "EMPTY=", "TEXT=grüße=1"],
            wait=500,
            key="alice/project",
            ttl=3600,
            allow=["index.example", "*.packages.example:443"],
        ),
        id="create",
    ),
    pytest.param("create, all defaults", op("create"), id="zeroed create"),
    pytest.param("session renew", op("renew", key="alice/project", extra=86400), id="renew"),
    pytest.param("exec, shell", op("exec", sh="echo hello; exit 3"), id="exec"),
    pytest.param("list directory", op("list", path="/workspace"), id="list"),
    pytest.param("stat", op("stat", path="/workspace/grüße"), id="stat"),
    pytest.param(
        "make directory", op("mkdir", path="/workspace/d/e", mode=448, parents=1), id="mkdir"
    ),
    pytest.param("remove", op("remove", path="/workspace/d", recursive=1), id="remove"),
    pytest.param("write file, every flag", op("write", path="/workspace/d/a", flags=7), id="write"),
    pytest.param("inspect", op("inspect"), id="inspect"),
]


@pytest.mark.parametrize(("name", "call"), CALLS)
async def test_a_call_is_the_frame_of_its_vector(
    daemon: FrameDaemon, name: str, call: Operation
) -> None:
    """Byte for byte, but for the numbers that the session chose."""
    await Driver(daemon.path, "plain").sandbox(call)
    [row] = [row for row in VECTORS["client"] if row["name"] == name]
    expected = pb.ClientMessage.FromString(bytes.fromhex(row["frame"])[4:])
    expected.request_id = 2
    assert daemon.frames[1] == expected.SerializeToString()


# --- properties ----------------------------------------------------------------------------

NUMBERS = {
    F.TYPE_UINT32: st.integers(0, 2**32 - 1),
    F.TYPE_UINT64: st.integers(0, 2**64 - 1),
    F.TYPE_INT64: st.integers(-(2**63), 2**63 - 1),
    F.TYPE_SINT32: st.integers(-(2**31), 2**31 - 1),
    F.TYPE_ENUM: st.integers(-(2**31), 2**31 - 1),
    F.TYPE_BOOL: st.booleans(),
}
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


def values(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    """Values of one field, a single element of a repeated one."""
    if field.type == F.TYPE_MESSAGE:
        assert field.message_type is not None
        return messages(field.message_type)
    if field.type == F.TYPE_STRING:
        return TEXT
    return st.binary(max_size=200) if field.type == F.TYPE_BYTES else NUMBERS[field.type]


def messages(kind: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Messages as constructor arguments: any of the fields, at most one of a oneof."""
    plain = {
        field.name: st.lists(values(field), max_size=4) if field.is_repeated else values(field)
        for field in kind.fields
        if field.containing_oneof is None
    }
    chosen = [
        st.one_of(*[st.fixed_dictionaries({field.name: values(field)}) for field in oneof.fields])
        for oneof in kind.oneofs
    ]
    parts = [st.fixed_dictionaries({}, optional=plain), *chosen]
    return st.tuples(*parts).map(lambda found: {k: v for part in found for k, v in part.items()})


@pytest.mark.parametrize("side", ["client", "server"])
def test_any_message_means_the_same_in_both_languages(side: str) -> None:
    @settings(max_examples=60, deadline=None)
    @given(st.lists(messages(TYPES[side].DESCRIPTOR), min_size=1, max_size=20))
    def agree(found: list[dict[str, Any]]) -> None:
        python = [TYPES[side](**fields) for fields in found]
        bodies = [message.SerializeToString() for message in python]
        expected = [f"{spelled(m)} {b.hex()}" for m, b in zip(python, bodies, strict=True)]
        assert c_codec(side, bodies) == expected

    agree()


@settings(max_examples=200, deadline=None)
@given(st.lists(st.binary(max_size=60), min_size=1, max_size=50))
def test_any_bytes_are_refused_or_understood(found: list[bytes]) -> None:
    """Whatever C accepts, it can encode again: no crash, no endless loop, under ASan."""
    assert len(c_codec("server", found)) == len(found)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(messages(pb.ServerMessage.DESCRIPTOR), st.integers(0, 400)), max_size=20))
def test_a_message_cut_short_is_refused_by_both(found: list[tuple[dict[str, Any], int]]) -> None:
    """Where Python refuses a prefix C does, and the other way about."""
    bodies = [pb.ServerMessage(**fields).SerializeToString()[:cut] for fields, cut in found]
    for body, answer in zip(bodies, c_codec("server", bodies), strict=True):
        try:
            pb.ServerMessage.FromString(body)
        except DecodeError:
            assert answer == "bad"
        else:
            assert answer != "bad"
