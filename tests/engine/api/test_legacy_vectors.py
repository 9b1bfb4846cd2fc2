"""The committed vectors are what this engine reads and writes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from sandbox.v1 import legacy_pb2 as pb
from sandbox_engine.wire.frames import MAX_REPLY, MAX_REQUEST, FrameDecoder, encode

from tools import vectors

DOCUMENT: dict[str, Any] = json.loads(vectors.PATH.read_text())
ROWS = [
    pytest.param(row, pb.ClientMessage, MAX_REQUEST, id=f"client: {row['name']}")
    for row in DOCUMENT["client"]
] + [
    pytest.param(row, pb.ServerMessage, MAX_REPLY, id=f"server: {row['name']}")
    for row in DOCUMENT["server"]
]


def test_the_file_is_current() -> None:
    assert vectors.PATH.read_text() == vectors.render()


@pytest.mark.parametrize(("row", "kind", "limit"), ROWS)
def test_a_frame_means_what_its_row_says(row: dict[str, Any], kind: Any, limit: int) -> None:
    decoder = FrameDecoder(limit)
    decoder.feed(bytes.fromhex(row["frame"]))
    payload = decoder.next()
    assert payload is not None
    assert decoder.next() is None
    meant = ParseDict(row["message"], kind())
    assert kind.FromString(payload) == meant
    assert encode(meant.SerializeToString(deterministic=True), limit).hex() == row["frame"]


def test_a_message_without_an_id_has_not_one_byte_of_it() -> None:
    """Legacy mode is byte-identical to the wire that knew no ids: field 100 is absent."""
    tag = bytes([0xA0, 0x06])
    rows = [
        row for row in DOCUMENT["client"] + DOCUMENT["server"] if "no request id" in row["name"]
    ]
    assert rows
    assert all(tag not in bytes.fromhex(row["frame"])[-12:] for row in rows)
