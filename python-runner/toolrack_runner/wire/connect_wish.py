"""The address to which a tool wants to connect."""

import re
from typing import TypeGuard

from toolrack_runner.wire.child_messages import Connect

#: RFC 1035, 2.3.4: a name has up to 253 characters and perhaps a dot after them; a label has up to 63.
HOST_CHARACTERS_MAX = 254
#: The most characters of one label of a host name (RFC 1035, 2.3.4).
LABEL_CHARACTERS_MAX = 63

# A host name has only visible ASCII characters.
_HOST = re.compile(r"[!-~]+")


def connect_wish(host: object, port: object) -> Connect:
    """The message for an address that a tool gave. Runs in the child. Raises ValueError with a sentence for the tool."""
    name = host.decode("latin-1") if isinstance(host, bytes) else host
    if not is_host(name) or not is_port(port):
        raise ValueError(
            "a connection needs a host name in ASCII, with labels of 1 to 63 characters, and a port from 1 to 65535"
        )
    return Connect(name, port)


def is_host(value: object) -> TypeGuard[str]:
    """Whether the value is a possible host name: visible ASCII, at most 254 characters, in labels of 1 to 63."""
    if type(value) is not str or len(value) > HOST_CHARACTERS_MAX or not _HOST.fullmatch(value):
        return False
    return all(0 < len(label) <= LABEL_CHARACTERS_MAX for label in value.removesuffix(".").split("."))


def is_port(value: object) -> TypeGuard[int]:
    return type(value) is int and 1 <= value <= 65_535
