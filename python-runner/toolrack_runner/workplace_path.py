"""The path of a child's workplace. The zygote mounts file systems there, and the server process measures what they hold."""

from collections.abc import Sequence
from typing import Final

#: The possible places of a child's own file system. The child uses the first place at which the file system hides no
#: readable path.
WORKPLACES: Final = ("/tmp", "/workplace", "/toolrack-workplace")  # noqa: S108 - the child's own


def workplace_beside(read_only: Sequence[str]) -> str:
    """The path of the workplace: /tmp, where programs expect to write. Another of WORKPLACES if /tmp has a readable path."""
    return next(
        place for place in WORKPLACES if not any(f"{path}/".startswith(f"{place}/") for path in read_only)
    )
