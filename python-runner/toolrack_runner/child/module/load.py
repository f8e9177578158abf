"""Imports a module, and reads all its specs or only the handler that a call needs.

Compiling a module and reading every spec take half of the time that a child needs for a module. So the first child sends two
things for later children: the compiled code, before any of it runs (`portable_code`), and afterwards the index of each spec
in TOOL_SPECS (`places`). Later children use both (`load_known`). The module may have forged the indexes, so they are used
only in the module's own calls.
"""

import marshal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType, SimpleNamespace
from typing import Any, TypeAlias

from toolrack_runner.child.module.annotations import to_convert
from toolrack_runner.child.module.convert import Converter, converter_of
from toolrack_runner.child.module.environment import use_environment
from toolrack_runner.child.module.facts import as_items, as_list, as_text
from toolrack_runner.child.module.files import ModuleFiles, Source, known_files, read_files
from toolrack_runner.child.module.handler import Handler, plain_handler
from toolrack_runner.child.module.import_fault import import_fault
from toolrack_runner.child.module.package import Codes, forget_package, import_package
from toolrack_runner.child.module.parse import NAME, NOTHING_DECLARED, DeclaredSpecs
from toolrack_runner.child.module.source import check_module_name, code_object
from toolrack_runner.child.module.spec import RefusedSpec, Tool
from toolrack_runner.child.module.specs import read_specs
from toolrack_runner.child.module.trusted_names import Names, NamesLeftAlone, TrustedNames
from toolrack_runner.child.module.user_traceback import exception_line
from toolrack_runner.wire.fault import ModuleError, module_error

#: If the compiled code of a module is larger, it is not sent, and each child compiles the module again.
CODE_BYTES_MAX = 512 << 10
#: More bytes than the name of a file needs in marshalled code. It has a module name, a path, and a few other bytes.
NAME_BYTES = 300


#: A compiled module: the code of its one file, or the codes of its several files.
Code: TypeAlias = CodeType | Codes


@dataclass
class LoadedModule:
    """An imported module. Its specs are read when they are first needed."""

    files: ModuleFiles
    trusted: Names
    _namespace: dict[str, Any]
    _declared: DeclaredSpecs
    #: For each tool whose spec is already known, the index of the spec in TOOL_SPECS.
    places: Mapping[str, int]
    _specs: tuple[dict[str, Tool], tuple[RefusedSpec, ...]] | None = None
    _converters: dict[str, Converter | None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.files.name

    @property
    def tools(self) -> Mapping[str, Tool]:
        """Every tool by its name. Raises ModuleError if the module has no list of specs."""
        return self._read_specs()[0]

    @property
    def faults(self) -> tuple[RefusedSpec, ...]:
        """Every refused spec. Raises ModuleError like `tools`."""
        return self._read_specs()[1]

    def find(self, tool: str) -> Handler | None:
        """The handler of a tool. None if no spec with this name was accepted. Raises ModuleError like `tools`."""
        place = self.places.get(tool)
        handler = None if place is None else self._handler_at(place, tool)
        if handler is None and (found := self.tools.get(tool)) is not None:
            return found.handler
        return handler

    def converter(self, tool: str, handler: Handler) -> Converter | None:
        """Converts the arguments of a tool. None if they stay as they are in JSON. It is made once. Raises ModuleError."""
        if tool not in self._converters:
            self._converters[tool] = None if self._states_parameters(tool) else self._converter_of(handler)
        return self._converters[tool]

    def _converter_of(self, handler: Handler) -> Converter | None:
        try:
            return self.trusted.keep(lambda: converter_of(handler))
        except MemoryError:
            raise
        except BaseException as error:  # noqa: BLE001 - types may be code of the module
            sentence = f"the types of {handler.title} can't be used ({exception_line(error)[:200]}). Write parameters."
            raise module_error("parameters_underivable", self.files.main, None, sentence) from None

    def _states_parameters(self, tool: str) -> bool:
        place = self.places.get(tool)
        fields = None if place is None else self._spec_at(place, tool)
        return (self.tools[tool].parameters if fields is None else fields.get("parameters")) is not None

    def _handler_at(self, place: int, tool: str) -> Handler | None:
        fields = self._spec_at(place, tool)
        return None if fields is None else plain_handler(fields.get("handler"))

    def _spec_at(self, place: int, tool: str) -> dict[str | None, object] | None:
        elements = as_list(self._namespace.get(NAME))
        if elements is None or place >= len(elements):
            return None
        fields = {as_text(key): value for key, value in as_items(elements[place]) or []}
        return fields if as_text(fields.get("name")) == tool else None

    def _read_specs(self) -> tuple[dict[str, Tool], tuple[RefusedSpec, ...]]:
        self._specs = self._specs or read_specs(self.files, self._namespace, self._declared, self.trusted)
        return self._specs


def load_module(
    name: str,
    source: Source,
    declared: DeclaredSpecs = NOTHING_DECLARED,
    *,
    for_one_call: bool = False,
    announce: Callable[[Code], None] | None = None,
    packages: str = "",
    libraries: Sequence[str] = (),
) -> LoadedModule:
    """Imports a module under its name, which runs its code, and reads TOOL_SPECS. Raises ModuleError.

    Runs in a jailed child, once in the life of a process, because the module stays in `sys.modules`. With `declared`, faults
    name the line of their spec. `announce` is called with the compiled module before any of it runs. With `for_one_call`,
    the module may replace names of the runner, because the process does nothing after the call. In this case the module's
    name is checked only if there is an `announce`.

    `packages` is the folder of the module's environment, or empty. `libraries` are imported from there before the module.
    """
    if announce or not for_one_call:
        check_module_name(name, packages)
    files = read_files(name, source)
    codes = {file: code_object(file, files.texts[file]) for file in files.python_files}
    code: Code = codes if files.is_package else codes[files.main]
    if announce:
        announce(code)
    trusted: Names = NamesLeftAlone() if for_one_call else TrustedNames()
    namespace = _imported(files, code, trusted, packages, libraries)
    module = LoadedModule(files, trusted, namespace, declared, {})
    _ = module.tools  # Reads the specs, so that a fault of TOOL_SPECS is raised here.
    return module


def load_known(
    name: str,
    source: str | Mapping[str, str],
    code: bytes,
    places: Mapping[str, int],
    *,
    packages: str = "",
) -> LoadedModule:
    """Imports a module, which runs its code, in a jailed child before its one call. Raises ModuleError.

    All specs are read only if `places` does not have the index of the spec that the call needs.
    """
    compiled: Code = marshal.loads(code)  # noqa: S302 - from a child that had not run any user code
    trusted = NamesLeftAlone()
    files = known_files(name, source)
    namespace = _imported(files, compiled, trusted, packages)
    return LoadedModule(files, trusted, namespace, NOTHING_DECLARED, places)


def portable_code(code: Code) -> bytes | None:
    """A compiled module for other processes of the same interpreter. None if it is too large.

    If a module has several files, each of them is marshalled separately, so that a child only reads the files that it
    imports. Files for which there is no room are left out, and are compiled when they are imported.
    """
    if isinstance(code, CodeType):
        data = marshal.dumps(code)
        return data if len(data) <= CODE_BYTES_MAX else None
    kept: dict[str, bytes] = {}
    room = CODE_BYTES_MAX - len(code) * NAME_BYTES
    for file, each in code.items():
        marshalled = each if isinstance(each, bytes) else marshal.dumps(each)
        if len(marshalled) <= room:
            room -= len(marshalled)
            kept[file] = marshalled
    return marshal.dumps(kept)


def places(module: LoadedModule) -> dict[str, int]:
    """For each tool, the index of its spec in TOOL_SPECS."""
    return {tool.name: tool.index for tool in module.tools.values()}


def converts(module: LoadedModule) -> bool:
    """True if the arguments of any tool are converted, which needs pydantic. May run code of the module. Never raises."""
    derived = [tool.handler for tool in module.tools.values() if tool.parameters is None]
    try:
        return any(module.trusted.keep(lambda: [bool(to_convert(handler)) for handler in derived]))
    except BaseException:  # noqa: BLE001 - an annotation may raise anything; the call reports it
        return False


def _imported(
    files: ModuleFiles, code: Code, trusted: Names, packages: str = "", libraries: Sequence[str] = ()
) -> dict[str, Any]:
    """Runs a compiled module under its name. Returns its namespace. Raises ModuleError."""
    # From here on, an import may run code of the environment, which is code of strangers like the module.
    use_environment(packages)
    for library in libraries:
        with suppress(
            BaseException
        ):  # If the library is needed and does not work, its next import raises again.
            trusted.run(partial(import_module, library))
    try:
        # Here code of the module runs for the first time, in a jailed child.
        if isinstance(code, CodeType):
            namespace = vars(_new_module(files))
            trusted.run(lambda: exec(code, namespace))  # noqa: S102
            return namespace
        return trusted.run(lambda: import_package(files, code))
    except BaseException as error:  # noqa: BLE001 - an import may raise anything
        came_up = error
        found = trusted.keep(lambda: import_fault(files, came_up))
        forget_package(files.name)
        raise ModuleError(found) from None


def _new_module(files: ModuleFiles) -> ModuleType:
    # From the loader, tracebacks and `inspect.getsource` read the lines of the module.
    text = files.texts[files.main]
    loader: Any = SimpleNamespace(get_source=lambda _name: text)
    module = ModuleType(files.name)
    module.__file__ = files.main
    module.__loader__ = loader
    module.__spec__ = ModuleSpec(files.name, loader, origin=files.main)
    sys.modules[files.name] = module
    return module
