"""What was found of messages: every case runs first in each run."""

from typing import Any, Final

#: Observer and moment of findings that are known and not closed.
KNOWN_OPEN: Final[frozenset[tuple[str, str]]] = frozenset()

#: The smallest case of each finding.
PAST_FINDINGS: Final[tuple[dict[str, Any], ...]] = ()
