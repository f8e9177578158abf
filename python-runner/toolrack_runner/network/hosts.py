"""The hosts that a spec names, and whether a connection is to one of them."""

import re
from dataclasses import dataclass

#: The ports of a host that is named without one.
PORTS = (80, 443)
_HOST = re.compile(
    r"(?=.{1,253}(?::\d+)?\Z)([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*)(?::([1-9]\d{0,4}))?",
    re.ASCII,
)
#: An IPv6 address has two colons or more; in a URL it is in brackets.
_IPV6 = re.compile(r"\[.*|[0-9a-f.]*(?::[0-9a-f.]*){2,}(?:%.*)?", re.ASCII | re.DOTALL)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Host:
    """A name, and the ports that may be connected to."""

    name: str
    ports: tuple[int, ...]


def read_host(text: str) -> Host | None:
    """`api.example.com` or `api.example.com:8443`; None for anything else, a numeric address too."""
    found = _HOST.fullmatch(text.lower()) if text.isascii() else None
    if found is None or is_address(text):
        return None
    if found[2] is None:
        return Host(found[1], PORTS)
    port = int(found[2])
    return Host(found[1], (port,)) if 0 < port < 1 << 16 else None


def is_address(text: str) -> bool:
    """True for a numeric address, with or without a port, in any spelling that a resolver accepts.

    Beside IPv6 these are the names whose last label is a number, decimal, octal or hexadecimal: `10.0.0.1`, `127.1`,
    `0x7f000001`, `2130706433` (WHATWG URL Standard, "ends in a number").
    """
    if _IPV6.fullmatch(text.lower()):
        return True
    name = text.lower().partition(":")[0].removesuffix(".")
    return _NUMBER.fullmatch(name.rpartition(".")[2]) is not None


def why_no_address(position: int) -> str:
    """The sentence for an address at this place of a spec's `network`, without its full stop."""
    return (
        f"network[{position}] is a numeric address, and a tool is connected to hosts by their names. "
        "Write a host name that leads there, such as 'api.example.com' or 'api.example.com:8443'"
    )


def is_named(hosts: tuple[Host, ...], name: str, port: int) -> bool:
    """True if the spec names this host with this port."""
    return any(name.lower().rstrip(".") == host.name and port in host.ports for host in hosts)
