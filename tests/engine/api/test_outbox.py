"""What a live command said: in order, merged, bounded, and ended once."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis.strategies import binary, booleans, lists, tuples
from sandbox_engine.api.rpc.outbox import HOLD_BYTES, MERGE_BYTES, Outbox
from sandbox_engine.model.exec import Output, Started


async def drain(outbox: Outbox) -> list[object]:
    taken: list[object] = []
    while (event := await outbox.take()) is not None:
        taken.append(event)
    return taken


@given(pieces=lists(tuples(booleans(), binary(max_size=9))))
def test_no_byte_is_lost_or_leaves_its_order(pieces: list[tuple[bool, bytes]]) -> None:
    async def through() -> list[object]:
        outbox = Outbox()
        for stderr, data in pieces:
            await outbox.put(Output(stderr, data))
        outbox.end()
        return await drain(outbox)

    taken = asyncio.run(through())
    for stream in (False, True):
        given_ = b"".join(data for stderr, data in pieces if stderr is stream)
        got = b"".join(e.data for e in taken if isinstance(e, Output) and e.stderr is stream)
        assert got == given_
    changes = [e.stderr for e in taken if isinstance(e, Output)]
    assert all(before != after for before, after in pairwise(changes))


async def test_a_message_is_never_merged_beyond_its_limit() -> None:
    outbox = Outbox()
    half = bytes(MERGE_BYTES // 2)
    for _ in range(5):
        await outbox.put(Output(False, half))
    outbox.end()
    sizes = [len(e.data) for e in await drain(outbox) if isinstance(e, Output)]
    assert sizes == [MERGE_BYTES, MERGE_BYTES, MERGE_BYTES // 2]


async def test_a_full_outbox_makes_its_writer_wait_until_there_is_room() -> None:
    outbox = Outbox()
    await outbox.put(Output(False, bytes(HOLD_BYTES)))
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(outbox.put(Output(False, b"x")))
        await asyncio.sleep(0)
        assert not waiting.done()
        assert await outbox.take() == Output(False, bytes(HOLD_BYTES))
    outbox.end()
    assert await drain(outbox) == [Output(False, b"x")]


async def test_an_error_follows_what_was_said_before_it() -> None:
    outbox = Outbox()
    await outbox.put(Started(1))
    outbox.end(ValueError("first"))
    outbox.end(KeyError("second"))
    assert await outbox.take() == Started(1)
    with pytest.raises(ValueError, match="first"):
        await outbox.take()
