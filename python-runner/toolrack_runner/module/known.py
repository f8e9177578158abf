"""A module that an earlier process has read whole: imported from the code that that one compiled, its specs left unread.

Compiling the module and reading every spec is half of what a module costs a child. The earlier process sent the code
before any of it ran. It sent the places of the specs afterwards, so they are believed only in the module's own calls.
"""

import marshal
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

from toolrack_runner.module.facts import as_items, as_list, as_text
from toolrack_runner.module.handler import Handler, plain_handler
from toolrack_runner.module.load import LoadedModule, import_code
from toolrack_runner.module.parse import NAME, NOTHING_DECLARED
from toolrack_runner.module.spec import RefusedSpec, Tool
from toolrack_runner.module.specs import read_specs
from toolrack_runner.module.trusted_names import NamesLeftAlone

#: Each child compiles a module again whose code is larger than this.
CODE_BYTES_MAX = 512 << 10


def portable_code(code: CodeType) -> bytes | None:
    """A compiled module for another process of the same interpreter; None if it is too large."""
    data = marshal.dumps(code)
    return data if len(data) <= CODE_BYTES_MAX else None


def places(module: LoadedModule) -> dict[str, int]:
    """The index in TOOL_SPECS of the spec of each tool."""
    return {tool.name: tool.index for tool in module.tools.values()}


@dataclass(slots=True)
class KnownModule:
    """As a LoadedModule, but the specs are read only if a call needs them."""

    name: str
    trusted: NamesLeftAlone
    _text: str
    _namespace: dict[str, Any]
    _places: Mapping[str, int]
    _whole: tuple[dict[str, Tool], tuple[RefusedSpec, ...]] | None = field(default=None, init=False)

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines of its source."""
        return tuple(self._text.splitlines())

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Every tool. Raises ModuleError if the module offers none this time."""
        return self._read()[0]

    @property
    def faults(self) -> tuple[RefusedSpec, ...]:
        """Every refused spec. Raises as `tools`."""
        return self._read()[1]

    def find(self, tool: str) -> Handler | None:
        """The handler of a tool; None if no spec of that name was accepted. Raises as `tools`."""
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

    def _read(self) -> tuple[dict[str, Tool], tuple[RefusedSpec, ...]]:
        if self._whole is None:
            self._whole = read_specs(self.name, self._namespace, NOTHING_DECLARED, self.trusted)
        return self._whole


def load_known(name: str, text: str, code: bytes, places: Mapping[str, int]) -> KnownModule:
    """Imports a module, which runs its code, in a jailed child before its one call. Raises ModuleError."""
    compiled = marshal.loads(code)  # noqa: S302 - from a child that had not run any user code
    trusted = NamesLeftAlone()
    return KnownModule(name, trusted, text, import_code(name, compiled, text, trusted), places)
