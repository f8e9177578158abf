"""Whether users other than the owner reach a path: a slot's uid is one of them."""

import os
import stat
from collections.abc import Iterable
from pathlib import Path


def closed_to_others(paths: Iterable[str]) -> str | None:
    """The first folder on the way to one of the paths that other users can't enter; None where all are open."""
    for path in paths:
        real = Path(os.path.realpath(path))
        for folder in (*reversed(real.parents), real):
            try:
                mode = folder.stat().st_mode
            except OSError:
                break  # Nobody reads what is not there.
            if stat.S_ISDIR(mode) and not mode & stat.S_IXOTH:
                return str(folder)
    return None
