"""One tool of a loaded module, and one spec that was refused."""

from dataclasses import dataclass

from toolrack_runner.module.example import Example
from toolrack_runner.module.fault import Fault, Note
from toolrack_runner.module.handler import DescribedHandler
from toolrack_runner.module.plain import JsonObject


@dataclass(frozen=True, slots=True)
class Tool:
    """A spec that was accepted; `description` or `parameters` are None where they are to come from the handler."""

    index: int
    name: str
    line: int | None
    handler: DescribedHandler
    description: str | None = None
    parameters: JsonObject | None = None
    annotations: JsonObject | None = None
    timeout_seconds: float | None = None
    secrets: tuple[str, ...] = ()
    network: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class SpecFault:
    """A spec that was refused, with every reason; `name` is None where it has none that can be read."""

    index: int
    name: str | None
    line: int | None
    faults: tuple[Fault, ...]
