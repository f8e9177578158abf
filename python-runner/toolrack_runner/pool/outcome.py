"""How one call ended."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """What the call cost; the processor time and the memory are the kernel's figures, not the child's."""

    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    resident_bytes_max: int = 0
    #: Processor time of main, which all users share, for what came back. Nobody is told.
    main_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """A text, JSON, or a code with its sentence; and what was printed meanwhile."""

    text: str | None = None
    #: The result as JSON bytes, checked.
    value: bytes | None = None
    code: str | None = None
    error: str | None = None
    log: str = ""
    log_is_truncated: bool = False
    usage: Usage = Usage()


def failure(code: str, error: str) -> Outcome:
    """An outcome that is a fault of the call, its tool or its worker."""
    return Outcome(code=code, error=error)
