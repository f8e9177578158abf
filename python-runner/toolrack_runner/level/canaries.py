"""The canaries: files, sockets and a process that are made as targets, to see whether an attack reaches them."""

from dataclasses import dataclass
from typing import Final

#: The fields that are descriptors of connections. Main sends them to a zygote with its `Opening`. They stay open in the
#: process of a probe.
CONNECTIONS: Final = ("passed", "severed")


@dataclass(frozen=True)
class Canaries:
    """The targets of the attacks, in place of valuable ones. Paths and numbers are as the confined child sees them."""

    victim: int
    """The pid of a process outside the jail, which the runner's user owns. This user may read its memory (dumpable)."""
    open_file: str
    """A file outside, mode 0644, owned by the runner's user, as /etc/passwd is."""
    private_file: str
    """A file outside, mode 0600, owned by the runner's user, as /etc/shadow is."""
    source: str
    """A file of the runner's own source."""
    open_directory: str
    """A directory outside, mode 0777, as /tmp is."""
    tcp_port: int
    """A port on 127.0.0.1 that main listens on."""
    udp_port: int
    """A port on 127.0.0.1 that main receives on."""
    abstract_name: str
    """An abstract unix socket (a stream) that main listens on, without the leading NUL of its name."""
    socket_file: str
    """The path of a unix socket (datagrams) that main receives on and everyone may write to."""
    passed: int
    """A TCP connection, passed to the child as the broker does it. Its peer keeps it open and never answers."""
    severed: int
    """A TCP connection like `passed`, but its peer has closed it by RST."""
    inherited: int
    """The number of a descriptor that is open in the zygote and must not be open in the child."""
    workdir: str
    """The child's own directory."""
    program: str = "/bin/true"
    """A program that does nothing."""
