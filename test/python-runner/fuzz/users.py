"""As whom a runner is tried."""

import os


def users() -> tuple[bool, ...]:
    """Whether as an ordinary user: as it was started, and as one where that was root."""
    return (False, True) if os.geteuid() == 0 else (False,)
