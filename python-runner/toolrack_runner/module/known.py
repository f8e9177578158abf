"""A module that a process before this one has read whole: imported from what that one compiled, and its specs left unread.

To compile and to read every spec is half of what a child's module costs. The code was told before any of it ran; which spec
is whose was told after, by a process of the same module, and is believed in its own calls only.
"""

import marshal
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from toolrack_runner.module.declared_specs import NAME, NOTHING_DECLARED
from toolrack_runner.module.handler import Handler, plain_handler
from toolrack_runner.module.load import LoadedModule, import_code
from toolrack_runner.module.plain import as_items, as_list, as_text
from toolrack_runner.module.specs import read_specs
from toolrack_runner.module.tool import SpecFault, Tool
from toolrack_runner.module.trusted_names import NamesLeftAlone

#: Compiled modules above this are compiled again by each child.
CODE_BYTES_MAX = 512 << 10


def portable_code(code: CodeType) -> bytes | None:
    """A compiled module for another process of the same interpreter; None where it is too large."""
    data = marshal.dumps(code)
    return data if len(data) <= CODE_BYTES_MAX else None


def places(module: LoadedModule) -> dict[str, int]:
    """Where in TOOL_SPECS the spec of each tool stands."""
    return {tool.name: tool.index for tool in module.tools.values()}


@dataclass(slots=True)
class KnownModule:
    """As a LoadedModule; what a call does not ask for is read when it does."""

    name: str
    trusted: NamesLeftAlone
    _text: str
    _namespace: dict[str, Any]
    _places: Mapping[str, int]
    _whole: tuple[dict[str, Tool], tuple[SpecFault, ...]] | None = field(default=None, init=False)

    @property
    def lines(self) -> tuple[str, ...]:
        """Of its source."""
        return tuple(self._text.splitlines())

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Every tool; raises ModuleFault where the module offers none this time."""
        return self._read()[0]

    @property
    def faults(self) -> tuple[SpecFault, ...]:
        """Every spec that is refused; raises as `tools`."""
        return self._read()[1]

    def find(self, tool: str) -> Handler | None:
        """The handler of a tool; None where no spec of that name was accepted. Raises as `tools`."""
        place = self._places.get(tool)
        handler = None if place is None else self._handler_at(place, tool)
        if handler is None and (found := self.tools.get(tool)) is not None:
            return found.handler
        return handler

    def _handler_at(self, place: int, tool: str) -> Handler | None:
        elements = as_list(self._namespace.get(NAME))
        if elements is None or place >= len(elements):
            return None
        fields = {as_text(key): value for key, value in as_items(elements[place]) or []}
        return plain_handler(fields.get("handler")) if as_text(fields.get("name")) == tool else None

    def _read(self) -> tuple[dict[str, Tool], tuple[SpecFault, ...]]:
        if self._whole is None:
            self._whole = read_specs(self.name, self._namespace, NOTHING_DECLARED, self.trusted)
        return self._whole


def load_known(name: str, text: str, code: bytes, places: Mapping[str, int]) -> KnownModule:
    """Imports it, which runs its code; raises ModuleFault. In a jailed child, before its one call."""
    compiled = marshal.loads(code)  # noqa: S302 - from a child that had run nothing of anybody's yet
    trusted = NamesLeftAlone()
    return KnownModule(name, trusted, text, import_code(name, compiled, text, trusted), places)
