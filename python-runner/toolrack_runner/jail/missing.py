"""A layer that this system does not have."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Missing:
    """Says in one sentence why a layer cannot be put on here. It is never a reason to go on without it silently."""

    reason: str
