"""The path of a child's workplace. The zygote mounts a file system there, and the server process measures what it holds."""

from collections.abc import Sequence
from typing import Final

#: Where a child's own file system can be. The child uses the first of these paths at which it hides no readable path.
WORKPLACES: Final = ("/tmp", "/workplace", "/toolrack-workplace")  # noqa: S108 - the child's own


def workplace_beside(read_only: Sequence[str]) -> str:
    """The path of the workplace: /tmp, where programs expect to write. Another of WORKPLACES if /tmp has a readable path."""
    return next(
        place for place in WORKPLACES if not any(f"{path}/".startswith(f"{place}/") for path in read_only)
    )
