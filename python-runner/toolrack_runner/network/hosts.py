"""The hosts that a spec names, and whether a connection is to one of them."""

import re
from dataclasses import dataclass

#: Where a host is named without a port.
PORTS = (80, 443)
_HOST = re.compile(
    r"(?=.{1,253}(?::\d+)?\Z)([a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*)(?::(\d{1,5}))?",
    re.ASCII,
)


@dataclass(frozen=True, slots=True)
class Host:
    """A name, and the ports that may be connected to."""

    name: str
    ports: tuple[int, ...]


def read_host(text: str) -> Host | None:
    """`api.example.com` or `api.example.com:8443`; None for anything else, a numeric address too."""
    found = _HOST.fullmatch(text.lower())
    if found is None or re.fullmatch(r"[0-9.]+", found[1]):
        return None
    if found[2] is None:
        return Host(found[1], PORTS)
    port = int(found[2])
    return Host(found[1], (port,)) if 0 < port < 1 << 16 else None


def is_named(hosts: tuple[Host, ...], name: str, port: int) -> bool:
    """Whether a connection to this name and port was asked for by the spec."""
    return any(name.lower().rstrip(".") == host.name and port in host.ports for host in hosts)
