"""Has the kernel note that a socket which was connected without waiting is connected."""

import errno
import os
import socket
from typing import Any


def confirm_connected(connected: socket.socket, address: Any) -> None:
    """Connects to `address` a second time, once the first, non-blocking `connect` has succeeded.

    The first one leaves the socket in the state SS_CONNECTING, which the kernel does not change when the handshake ends.
    A socket in that state can be connected to another address after its peer has gone: `sendmsg` with MSG_FASTOPEN
    does it without a call of `connect`. The second `connect` makes the state SS_CONNECTED, and MSG_FASTOPEN then fails
    with EISCONN, also after the peer has gone.

    Raises OSError where the socket is not connected any more; the caller closes it.
    """
    code = connected.connect_ex(address)
    if code not in (0, errno.EISCONN):
        raise OSError(code, os.strerror(code))
