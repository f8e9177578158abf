"""The canaries: files, sockets and a process that stand for valuable targets. They show whether an attack reaches them."""

from dataclasses import dataclass
from typing import Final

#: The fields with descriptors of connections. The server process sends these descriptors to a zygote with its `Opening`. In
#: the process of a probe they stay open.
CONNECTIONS: Final = ("passed", "severed")


@dataclass(frozen=True)
class Canaries:
    """The targets of the attacks. Paths and numbers are those that the confined child sees."""

    victim: int
    """The pid of a process outside of the jail. Its user is the runner's user, who may read its memory (dumpable)."""
    open_file: str
    """A file outside the jail, mode 0644, owned by the runner's user, like /etc/passwd."""
    private_file: str
    """A file outside the jail, mode 0600, owned by the runner's user, like /etc/shadow."""
    source: str
    """A file of the runner's own source."""
    open_directory: str
    """A directory outside the jail, mode 0777, like /tmp."""
    tcp_port: int
    """A port on 127.0.0.1 that the server process listens on."""
    udp_port: int
    """A port on 127.0.0.1 that the server process receives on."""
    abstract_name: str
    """An abstract unix socket (a stream) that the server process listens on, without the leading NUL of its name."""
    socket_file: str
    """The path of a unix socket (datagrams) that the server process receives on. Everyone may write to it."""
    passed: int
    """A TCP connection, passed to the child as the broker would pass it. Its peer keeps it open and never answers."""
    severed: int
    """A TCP connection like `passed`, but its peer has closed it by RST."""
    inherited: int
    """The number of a descriptor that is open in the zygote and must not be open in the child."""
    workdir: str
    """The child's own directory."""
    program: str = "/bin/true"
    """A program that does nothing."""
