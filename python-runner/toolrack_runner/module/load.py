"""Imports a module, and reads all its specs or only the handler that a call needs.

Compiling a module and reading every spec take half of the time that a child needs for a module. So an earlier process sends
the compiled code before any of it runs (`portable_code`), and the places of the specs afterwards (`places`). A later child
uses both (`load_known`). The module may have forged the places, so they are used only in the module's own calls.
"""

import marshal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any

from toolrack_runner.module.facts import as_items, as_list, as_text, is_a, missing_package
from toolrack_runner.module.fault import Fault, FaultKind, ModuleError, fault
from toolrack_runner.module.handler import Handler, plain_handler
from toolrack_runner.module.parse import NAME, NOTHING_DECLARED, DeclaredSpecs
from toolrack_runner.module.raised import denied, raised
from toolrack_runner.module.source import check_module_name, code_object, source_text
from toolrack_runner.module.spec import RefusedSpec, Tool
from toolrack_runner.module.specs import read_specs
from toolrack_runner.module.trusted_names import Names, NamesLeftAlone, TrustedNames
from toolrack_runner.module.user_traceback import exception_line, user_line, user_traceback

#: If the compiled code of a module is larger than this, each child compiles the module again.
CODE_BYTES_MAX = 512 << 10


@dataclass
class LoadedModule:
    """An imported module. Its specs are read when they are first needed."""

    name: str
    trusted: Names
    _text: str
    _namespace: dict[str, Any]
    _declared: DeclaredSpecs
    #: The index in TOOL_SPECS of the spec of each tool, if it is already known.
    _places: Mapping[str, int]
    _specs: tuple[dict[str, Tool], tuple[RefusedSpec, ...]] | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self._text.splitlines())

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Every tool by its name. Raises ModuleError if the module has no list of specs."""
        return self._read_specs()[0]

    @property
    def faults(self) -> tuple[RefusedSpec, ...]:
        """Every refused spec. Raises ModuleError like `tools`."""
        return self._read_specs()[1]

    def find(self, tool: str) -> Handler | None:
        """The handler of a tool; None if no spec of that name was accepted. Raises ModuleError like `tools`."""
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

    def _read_specs(self) -> tuple[dict[str, Tool], tuple[RefusedSpec, ...]]:
        self._specs = self._specs or read_specs(self.name, self._namespace, self._declared, self.trusted)
        return self._specs


def load_module(
    name: str,
    source: bytes,
    declared: DeclaredSpecs = NOTHING_DECLARED,
    *,
    for_one_call: bool = False,
    announce: Callable[[CodeType], None] | None = None,
) -> LoadedModule:
    """Imports a module under its name, which runs its code, and reads TOOL_SPECS. Raises ModuleError.

    Runs in a jailed child, once in the life of a process, because the module stays in `sys.modules`. With `declared`, faults
    name the line of their spec. `announce` is called with the compiled module before any of it runs. With `for_one_call`,
    the module may replace names of the runner, because the process does nothing after the call. Then the module's name is
    checked only if there is an `announce`.
    """
    if announce or not for_one_call:
        check_module_name(name)
    text = source_text(name, source)
    code = code_object(name, text)
    if announce:
        announce(code)
    trusted: Names = NamesLeftAlone() if for_one_call else TrustedNames()
    module = LoadedModule(name, trusted, text, _import_code(name, code, text, trusted), declared, {})
    _ = module.tools  # Reads the specs, so that a fault of TOOL_SPECS is raised here.
    return module


def load_known(name: str, text: str, code: bytes, places: Mapping[str, int]) -> LoadedModule:
    """Imports a module, which runs its code, in a jailed child before its one call. Raises ModuleError.

    Its specs are read only if `places` does not lead to the handler of the call.
    """
    compiled = marshal.loads(code)  # noqa: S302 - from a child that had not run any user code
    trusted = NamesLeftAlone()
    namespace = _import_code(name, compiled, text, trusted)
    return LoadedModule(name, trusted, text, namespace, NOTHING_DECLARED, places)


def portable_code(code: CodeType) -> bytes | None:
    """A compiled module for another process of the same interpreter; None if it is too large."""
    data = marshal.dumps(code)
    return data if len(data) <= CODE_BYTES_MAX else None


def places(module: LoadedModule) -> dict[str, int]:
    """The index in TOOL_SPECS of the spec of each tool."""
    return {tool.name: tool.index for tool in module.tools.values()}


def _import_code(name: str, code: CodeType, text: str, trusted: Names) -> dict[str, Any]:
    """Runs a compiled module under its name. Returns its namespace. Raises ModuleError."""
    namespace = vars(_new_module(name, text))
    try:
        # The one place where user code starts, in a jailed child.
        trusted.run(lambda: exec(code, namespace))  # noqa: S102
    except BaseException as error:  # noqa: BLE001 - an import may raise anything
        came_up = error
        found = trusted.keep(lambda: _import_fault(name, tuple(text.splitlines()), came_up))
        sys.modules.pop(name, None)
        raise ModuleError(found) from None
    return namespace


def _new_module(name: str, text: str) -> ModuleType:
    # Tracebacks and `inspect.getsource` read the lines of the module from the loader.
    loader: Any = SimpleNamespace(get_source=lambda _name: text)
    module = ModuleType(name)
    module.__file__ = f"{name}.py"
    module.__loader__ = loader
    module.__spec__ = ModuleSpec(name, loader, origin=f"{name}.py")
    sys.modules[name] = module
    return module


def _import_fault(module: str, lines: tuple[str, ...], error: BaseException) -> Fault:
    file = f"{module}.py"
    kind, sentence = _import_sentence(module, lines, error)
    found = fault(kind, module, user_line(error, file), sentence)
    return Fault(kind, found.message, found.line, user_traceback(error, file, lines))


def _import_sentence(module: str, lines: tuple[str, ...], error: BaseException) -> tuple[FaultKind, str]:
    code, _ = raised(error, module, lines)
    if code == "MEMORY_LIMIT":
        sentence = "importing the module needs more memory than it may have. Load less, and inside a handler."
        return "import_memory", sentence
    if code == "DISK_LIMIT":
        sentence = "importing the module writes more than its disk quota. Write less, and inside a handler."
        return "import_disk", sentence
    if is_a(error, SystemExit):
        cure = "Remove the call, or put it under if __name__ == '__main__'"
        return "import_exited", f"importing the module calls exit(). {cure}."
    package = missing_package(error)
    if package is not None:
        sentence = f"the module imports '{package[:64]}', which is not installed here."
        cure = "Use the standard library, or ask the operator to add the package to packages.txt"
        return "import_not_installed", f"{sentence} {cure}."
    hint = denied(error, f"{module}.py", lines)
    if hint:
        return "import_denied", f"importing the module was refused ({exception_line(error)[:200]}). {hint}"
    cure = "Correct that line, or move code that may fail into a handler"
    return "import_raised", f"importing the module raised {exception_line(error)[:300]}. {cure}."
