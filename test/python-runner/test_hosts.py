"""Which hosts a spec may name, and what is one of them."""

import pytest

from toolrack_runner.hosts import Host, is_address, is_named, read_host


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("api.example.com", Host("api.example.com", (80, 443))),
        ("API.Example.com:8443", Host("api.example.com", (8443,))),
        ("localhost", Host("localhost", (80, 443))),
        ("a-b.c", Host("a-b.c", (80, 443))),
        ("10.0.0.1.example.com", Host("10.0.0.1.example.com", (80, 443))),
        ("1.example.2a", Host("1.example.2a", (80, 443))),
        ("0xg", Host("0xg", (80, 443))),
    ],
)
def test_a_name_with_or_without_a_port_is_a_host(text: str, host: Host) -> None:
    assert read_host(text) == host


ADDRESSES = [
    "127.0.0.1",
    "10.0.0.1:80",
    "127.0.0.1.",
    "127.1",
    "2130706433",
    "2130706433:8080",
    "0x7f000001",
    "0X7F000001",
    "0x7f.1",
    "127.0.0.0x1",
    "0177.0.0.1",
    "017700000001",
    "0x",
    "[::1]",
    "[::1]:8080",
    "[fe80::1%eth0]",
    "::1",
    "::ffff:10.0.0.1",
    "2001:db8::1",
    "fe80::1%eth0",
    # What ends in a number is an address to a browser, and no name in the public DNS.
    "example.1",
    "example.com.0x10:80",
]


@pytest.mark.parametrize("text", ADDRESSES)
def test_a_numeric_address_in_any_spelling_is_none(text: str) -> None:
    assert is_address(text)
    assert read_host(text) is None


@pytest.mark.parametrize(
    "text", ["example.com:80", "a.1b:80", "http://127.0.0.1:80/", "x:y:z", "beef", "", ":80"]
)
def test_what_is_no_numeric_address_is_not_called_one(text: str) -> None:
    assert not is_address(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "http://example.com",
        "example.com/path",
        "user@example.com",
        "*.example.com",
        "example.com:0",
        "example.com:65536",
        "example.com:",
        "example.com:080",
        "example.com.",
        "\u212a.example.com",  # Its lower case is an ASCII k.
        "-a.example.com",
        "a..b",
        "a_b.example.com",
        "example.com\n",
        "exämple.com",
        "a" * 64 + ".com",
        "x." * 130 + "com",
    ],
)
def test_nothing_else_is(text: str) -> None:
    assert read_host(text) is None


def test_a_connection_is_to_a_named_host_and_port_only() -> None:
    hosts = (Host("api.example.com", (443,)),)
    assert is_named(hosts, "api.example.com", 443)
    assert is_named(hosts, "API.example.com.", 443)
    for name, port in (
        ("api.example.com", 80),
        ("example.com", 443),
        ("x.api.example.com", 443),
        ("api.example.com.evil.org", 443),
    ):
        assert not is_named(hosts, name, port)
