"""Laws of the streaming tar reader, checked against archives the standard library writes."""

from __future__ import annotations

import io
import tarfile
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sandbox_guest.tarstream import Member, TarError, TarReader

names = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=70).filter(
        lambda part: part not in (".", "..")
    ),
    min_size=1,
    max_size=4,
)


@settings(deadline=None)
@given(
    members=st.lists(st.tuples(names, st.binary(max_size=2000)), max_size=5),
    form=st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]),
    places=st.lists(st.integers(0, 20_000)),
)
def test_what_was_packed_is_read_however_it_is_cut(
    members: list[tuple[list[str], bytes]], form: int, places: list[int]
) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=form) as tar:
        for parts, body in members:
            info = tarfile.TarInfo("/".join(parts))
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    wire = buffer.getvalue()
    edges = [0, *sorted(min(place, len(wire)) for place in places), len(wire)]
    reader, seen = TarReader(), []
    for start, end in pairwise(edges):
        for item in reader.feed(wire[start:end]):
            if isinstance(item, Member):
                seen.append((item.name, b""))
            else:
                seen[-1] = (seen[-1][0], seen[-1][1] + item)
    assert reader.finished
    assert seen == [(tuple(parts), body) for parts, body in members]


@settings(deadline=None)
@given(st.binary(max_size=3000))
def test_garbage_is_refused_or_waited_on(garbage: bytes) -> None:
    reader = TarReader()
    try:
        list(reader.feed(garbage))
    except TarError:
        return
    assert not reader.finished or not any(garbage[:512])


@pytest.mark.parametrize("pax", [b"5 a=\n", b"x", b"99 path=a\n", b"3 =\n", b"0 a=b\n"])
def test_broken_pax_headers_are_refused(pax: bytes) -> None:
    info = tarfile.TarInfo("pax")
    info.type, info.size = tarfile.XHDTYPE, len(pax)
    wire = info.tobuf(tarfile.USTAR_FORMAT) + pax.ljust(512, b"\0")
    end = tarfile.TarInfo("x").tobuf(tarfile.USTAR_FORMAT)
    reader = TarReader()
    try:
        (member,) = list(reader.feed(wire + end))
    except TarError:
        return
    assert isinstance(member, Member)
    assert member.name == ("x",)


def test_a_member_that_claims_a_huge_name_is_refused() -> None:
    info = tarfile.TarInfo("l")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 1 << 30
    with pytest.raises(TarError):
        list(TarReader().feed(info.tobuf(tarfile.GNU_FORMAT)))
