"""What the twins of the attacks aim at, planted for them."""

from dataclasses import dataclass
from typing import Final

#: The fields that are descriptors of connections: they go to a zygote beside its opening, and stay open in its probes.
CONNECTIONS: Final = ("passed", "severed")


@dataclass(frozen=True)
class Plants:
    """Nothing of value, put where something of value would be. Paths and numbers are as the confined child sees them."""

    victim: int
    """A process of the runner's own user outside the jail, its memory readable for that user (dumpable)."""
    open_file: str
    """Outside, mode 0644, owned by the runner's user: as /etc/passwd."""
    private_file: str
    """Outside, mode 0600, owned by the runner's user: as /etc/shadow."""
    source: str
    """A file of the runner's own source."""
    open_directory: str
    """Outside, mode 0777: as /tmp."""
    tcp_port: int
    """Somebody listens there on 127.0.0.1."""
    udp_port: int
    """Somebody receives there on 127.0.0.1."""
    abstract_name: str
    """Somebody listens on this abstract unix socket (a stream), named without its leading NUL."""
    socket_file: str
    """Somebody receives on this unix socket (datagrams), which everyone may write to."""
    passed: int
    """A TCP connection, passed in as the broker passes them; its peer is there and never answers."""
    severed: int
    """Another one, whose peer has ended it by RST."""
    inherited: int
    """The number of a descriptor that the zygote has open and the child must not."""
    workdir: str
    """The child's own directory."""
    program: str = "/bin/true"
    """Does nothing."""
