"""Addresses of links: which there are, who gets which, and what a tap's name says."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

import pytest
from sandbox_engine.model.link import (
    BLOCKS,
    MASK,
    PREFIX,
    Link,
    block_of,
    blocks_in,
    free_block,
    guest_of,
    host_of,
    lock,
    read_tap,
    tap_name,
    usable,
)

LINK_LOCAL = IPv4Network("169.254.0.0/16")
LINK = Link(vm="vm-1", tap="sbxabcd_300", block=300, mac="02:00:00:00:00:07")


def test_both_ends_of_a_link_are_the_two_hosts_of_one_30() -> None:
    for block in (64, 300, 16319):
        network = IPv4Network(f"{host_of(block)}/{PREFIX}", strict=False)
        assert network.subnet_of(LINK_LOCAL)
        assert [str(one) for one in network.hosts()] == [host_of(block), guest_of(block)]
        assert str(network.netmask) == MASK


@pytest.mark.parametrize(
    ("address", "able"),
    [
        ("169.254.0.252", False),
        ("169.254.1.0", True),
        ("169.254.168.252", True),
        ("169.254.169.0", False),
        ("169.254.169.254", False),
        ("169.254.170.2", False),
        ("169.254.171.0", True),
        ("169.254.254.252", True),
        ("169.254.255.0", False),
    ],
)
def test_what_clouds_and_the_standard_keep_for_themselves_is_nobody_s(
    address: str, able: bool
) -> None:
    block = block_of(address)
    assert block is not None
    assert usable(block) is able


def test_an_address_of_another_network_is_in_no_block() -> None:
    assert block_of("169.253.255.255") is None
    assert block_of("169.255.0.0") is None


def test_blocks_are_given_out_in_turn() -> None:
    assert free_block(100, {101, 102}) == 103
    assert free_block(BLOCKS - 65, set()) == 64  # round, and past what is kept out


def test_who_comes_back_gets_its_own_again_where_it_is_free() -> None:
    assert free_block(100, {101}, wanted=500) == 500
    assert free_block(100, {101, 500}, wanted=500) == 102
    assert free_block(100, set(), wanted=block_of("169.254.169.254")) == 101


def test_what_is_kept_only_who_wants_it_gets() -> None:
    assert free_block(100, {101}, kept={102}) == 103
    assert free_block(100, {101}, wanted=102, kept={102}) == 102


def test_the_last_one_can_be_had_and_then_none() -> None:
    every = {block for block in range(BLOCKS) if usable(block)}
    assert free_block(0, every - {777}) == 777
    assert free_block(0, every) is None


@pytest.mark.parametrize(
    ("network", "blocks"),
    [
        ("169.254.1.1/30", [64]),
        ("169.254.1.2/32", [64]),
        ("169.254.1.0/28", [64, 65, 66, 67]),
        ("169.254.1.9/29", [66, 67]),
        ("169.254.7.7/16", []),
        ("10.0.0.1/30", []),
    ],
)
def test_what_the_host_has_already_is_taken(network: str, blocks: list[int]) -> None:
    assert list(blocks_in([network])) == blocks


def test_a_tap_says_whose_it_is_and_where() -> None:
    assert read_tap("abcd", LINK.tap, LINK.alias) == LINK
    assert len(tap_name("abcd", BLOCKS - 1)) <= 15


@pytest.mark.parametrize(
    "name", ["eth0", "sbxabce_300", "sbxabcd_", "sbxabcd_x", f"sbxabcd_{BLOCKS}", "sbxabcd300"]
)
def test_any_other_interface_is_not_ours(name: str) -> None:
    assert read_tap("abcd", name, LINK.alias) is None


@pytest.mark.parametrize("alias", ["", "vm-1", "vm-1 03:00:00:00:00:07", "a b c"])
def test_a_tap_that_does_not_say_whose_it_is_is_nobody_s(alias: str) -> None:
    found = read_tap("abcd", LINK.tap, alias)
    assert found is not None
    assert found.vm == ""


def test_the_lock_accepts_two_things_and_drops_the_rest() -> None:
    lines = lock("sandbox", LINK, 8080).splitlines()
    assert [line for line in lines if "accept" in line] == [lines[2], lines[3]]
    assert lines[-1].endswith("counter drop")
    assert "policy drop" in lines[0]
    for line in (lines[2], lines[3]):
        assert LINK.mac in line
        assert LINK.guest in line
        assert str(IPv4Address(LINK.host)) in line
