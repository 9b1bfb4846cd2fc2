"""What the C library's tests have ready, for the C++ library's."""

from tests.sdk_c.conftest import daemon, installed

__all__ = ["daemon", "installed"]
