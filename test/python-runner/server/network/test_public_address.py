"""Only the public internet's addresses are connected to."""

import pytest

from toolrack_runner.server.network.public_address import is_public, read_networks


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",
        "10.0.0.1",
        "100.64.0.1",
        "127.0.0.1",
        "127.1.2.3",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.0.1",
        "192.0.2.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.51.100.1",
        "203.0.113.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "64:ff9b::7f00:1",
        "100::1",
        "2001::1",
        "2001:20::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%eth0",
        "ff02::1",
    ],
)
def test_what_is_not_public_is_known(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "8.8.8.8", "93.184.215.14", "2606:4700::1111", "::ffff:8.8.8.8", "2a00:1450::1"]
)
def test_what_is_public_is_known(address: str) -> None:
    assert is_public(address)


def test_the_operator_may_allow_a_private_network_and_no_more() -> None:
    allowed = read_networks("10.1.0.0/16, fd12::/16")
    assert is_public("10.1.2.3", allowed)
    assert is_public("::ffff:10.1.2.3", allowed)
    assert is_public("fd12::1", allowed)
    assert not is_public("10.2.2.3", allowed)
    assert not is_public("169.254.169.254", allowed)
