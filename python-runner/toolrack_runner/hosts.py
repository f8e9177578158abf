"""The hosts that a spec names. Also tells whether a connection is to one of them."""

import re
from dataclasses import dataclass

#: The ports that a tool may connect to if a spec names a host without a port.
PORTS = (80, 443)
_OF_THIS_MACHINE = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")
_HOST = re.compile(
    r"(?=.{1,253}(?::\d+)?\Z)([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*)(?::([1-9]\d{0,4}))?",
    re.ASCII,
)
#: An IPv6 address has two colons or more; in a URL it is in brackets.
_IPV6 = re.compile(r"\[.*|[0-9a-f.]*(?::[0-9a-f.]*){2,}(?:%.*)?", re.ASCII | re.DOTALL)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Host:
    """The name of a host, and the ports that a tool may connect to."""

    name: str
    ports: tuple[int, ...]


def read_host(text: str) -> Host | None:
    """Reads `api.example.com` or `api.example.com:8443`. None for any other text, such as a numeric address."""
    found = _HOST.fullmatch(text.lower()) if text.isascii() else None
    if found is None or is_address(text):
        return None
    if found[2] is None:
        return Host(found[1], PORTS)
    port = int(found[2])
    return Host(found[1], (port,)) if 0 < port < 1 << 16 else None


def is_address(text: str) -> bool:
    """True for a numeric address, with or without a port, in any spelling that a resolver accepts.

    These are IPv6 addresses, and all names whose last label is a decimal, octal or hexadecimal number: `10.0.0.1`, `127.1`,
    `0x7f000001`, `2130706433` (WHATWG URL Standard, "ends in a number").
    """
    if _IPV6.fullmatch(text.lower()):
        return True
    name = text.lower().partition(":")[0].removesuffix(".")
    return _NUMBER.fullmatch(name.rpartition(".")[2]) is not None


def why_no_address(position: int) -> str:
    """The error text for a numeric address at this position of a spec's `network`, without its full stop."""
    return (
        f"network[{position}] is a numeric address, and a tool is connected to hosts by their names. "
        "Write a host name that leads there, such as 'api.example.com' or 'api.example.com:8443'"
    )


def is_this_machine(name: str) -> bool:
    """True for a name of the machine itself: one that every resolver knows (RFC 6761), or one of /etc/hosts."""
    return name in _OF_THIS_MACHINE or name.endswith(".localhost")


def why_not_this_machine(position: int, name: str) -> str:
    """The error text for a name of this machine at this position of a spec's `network`, without its full stop."""
    return (
        f"network[{position}] names '{name}', which is the machine of the runner, and tools are connected to public "
        "addresses only. Name a public host, or ask the operator to allow this machine: "
        "TOOLRACK_RUNNER_NETWORK_ALLOW=127.0.0.0/8,::1/128"
    )


def is_named(hosts: tuple[Host, ...], name: str, port: int) -> bool:
    return any(name.lower().rstrip(".") == host.name and port in host.ports for host in hosts)
