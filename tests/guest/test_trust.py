"""Roots of the egress in the system's bundle: added, replaced, and taken out again."""

from __future__ import annotations

from pathlib import Path

import pytest
from sandbox_guest.places import Places
from sandbox_guest.trust import set_trust

SYSTEM = "-----BEGIN CERTIFICATE-----\nsystem\n-----END CERTIFICATE-----\n"
ONE, TWO = SYSTEM.replace("system", "one"), SYSTEM.replace("system", "two")


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(library="", etc=str(tmp_path / "etc"), state=str(tmp_path / "state"))


def bundle(places: Places) -> Path:
    return Path(places.etc) / "ssl/certs/ca-certificates.crt"


def own(places: Places) -> Path:
    return Path(places.state) / "egress-ca.crt"


@pytest.mark.parametrize("system", [SYSTEM, ""], ids=["with a bundle", "without one"])
def test_it_comes_goes_and_is_there_once(places: Places, system: str) -> None:
    if system:
        bundle(places).parent.mkdir(parents=True)
        bundle(places).write_text(system)
    for pem in (ONE, ONE, TWO.rstrip("\n")):
        set_trust(places, pem)
        text = bundle(places).read_text()
        assert text.startswith(system)
        assert text.count(pem) == 1
        assert own(places).read_text().strip() == pem.strip()
    assert "one" not in text
    assert bundle(places).stat().st_mode & 0o777 == 0o644
    set_trust(places, "")
    assert bundle(places).read_text() == system
    assert not own(places).exists()


def test_nothing_to_take_out_makes_nothing(places: Places) -> None:
    set_trust(places, "")
    assert not bundle(places).exists()
