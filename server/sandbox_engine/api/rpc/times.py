"""Points and lengths of time, between protobuf and the model."""

from __future__ import annotations

import math

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp


def timestamp(unix_s: float) -> Timestamp:
    """A point in time."""
    part, whole = math.modf(unix_s)
    return Timestamp(seconds=int(whole), nanos=int(part * 1e9))


def duration(length_ms: int) -> Duration:
    """A length of time."""
    return Duration(seconds=length_ms // 1000, nanos=length_ms % 1000 * 1_000_000)


def milliseconds(length: Duration) -> int:
    """A length in ms, rounded up: a caller never gets less than was asked."""
    return length.seconds * 1000 - (-length.nanos // 1_000_000)


def seconds(length: Duration) -> int:
    """A length in s, rounded up."""
    return length.seconds - (-length.nanos // 1_000_000_000)
