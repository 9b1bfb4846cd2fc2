"""The frame daemon of the C library's tests, for the C++ library's."""

from tests.sdk_c.conftest import daemon

__all__ = ["daemon"]
