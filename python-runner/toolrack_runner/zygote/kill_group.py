"""The end of what a child has forked."""

import os
import signal


def kill_group(pid: int) -> None:
    """Kills what a child left in its process group, while its pid can't be another's: it is not reaped yet.

    Only where forking is not denied; see docs/security.md for what is not promised there.
    """
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
