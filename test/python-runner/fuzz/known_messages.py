"""What was found of messages: every case runs first in each run."""

import base64
import json
from typing import Any, Final

from fuzz.forged import frame

#: Observer and moment of findings that are known and not closed.
KNOWN_OPEN: Final[frozenset[tuple[str, str]]] = frozenset()


def _case(moment: str, *messages: dict[str, Any]) -> dict[str, Any]:
    frames = (frame(json.dumps(message).encode()) for message in messages)
    return {"moment": moment, "writes": [base64.b64encode(each).decode() for each in frames]}


#: The smallest case of each finding.
PAST_FINDINGS: Final[tuple[dict[str, Any], ...]] = (
    # A name that cannot be resolved was a 500.
    *(
        _case("called", {"connect": {"host": host, "port": 443}})
        for host in ("localhost..", "localhost...", "a" * 64, "xn--\0")
    ),
    # A failure of the runner was taken from a module.
    _case("importing", {"failed": "x"}),
    # Keys that are lists.
    _case("known", {"imports": [["x"]], "code": None}),
    _case("called", {"ready": [[]]}),
)
