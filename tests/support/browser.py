"""A real browser without a window."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium.webdriver import Chrome
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service


@contextmanager
def open_browser(profile: Path) -> Iterator[Chrome]:
    """Chromium with an empty profile; it calls nobody by itself."""
    options = Options()
    options.binary_location = "/usr/bin/chromium"
    for flag in (
        "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run",
        "disable-background-networking", "disable-component-update", "disable-sync",
        f"user-data-dir={profile}",
    ):  # fmt: skip
        options.add_argument(f"--{flag}")
    made = Chrome(options=options, service=Service("/usr/bin/chromedriver"))
    try:
        yield made
    finally:
        made.quit()
