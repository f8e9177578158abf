"""Which hosts a spec may name, and what is one of them."""

import pytest

from toolrack_runner.network.hosts import Host, is_named, read_host


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("api.example.com", Host("api.example.com", (80, 443))),
        ("API.Example.com:8443", Host("api.example.com", (8443,))),
        ("localhost", Host("localhost", (80, 443))),
        ("a-b.c", Host("a-b.c", (80, 443))),
    ],
)
def test_a_name_with_or_without_a_port_is_a_host(text: str, host: Host) -> None:
    assert read_host(text) == host


@pytest.mark.parametrize(
    "text",
    [
        "",
        "127.0.0.1",
        "10.0.0.1:80",
        "2130706433",
        "[::1]",
        "::1",
        "http://example.com",
        "example.com/path",
        "user@example.com",
        "*.example.com",
        "example.com:0",
        "example.com:65536",
        "example.com:",
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
