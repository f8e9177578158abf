"""The faults of a module. docs/reference/module-faults.md describes each kind of this closed list."""

from dataclasses import dataclass
from typing import Literal, NotRequired, TypedDict

FaultKind = Literal[
    # Faults of the source, found without running it.
    "module_name_invalid",
    "module_name_taken",
    "source_too_large",
    "source_not_utf8",
    "source_has_nul",
    "syntax_error",
    "source_too_nested",
    "specs_missing",
    # Faults of the head of the main file, and of the packages that it asks for.
    "head_invalid",
    "requirement_invalid",
    "python_unsupported",
    "packages_off",
    "packages_denied",
    "packages_missing",
    "packages_yanked",
    "packages_no_wheel",
    "packages_conflict",
    "packages_too_large",
    "packages_changed",
    "packages_unsafe",
    # Faults of the files of a module with several files.
    "path_invalid",
    "path_conflict",
    "files_too_many",
    "files_too_large",
    "init_missing",
    # Faults of the import.
    "import_raised",
    "import_not_installed",
    "import_sibling_missing",
    "import_circular",
    "import_exited",
    "import_denied",
    "import_memory",
    "import_disk",
    "import_hung",
    "import_crashed",
    "packages_unsupported",
    "specs_not_a_list",
    "specs_empty",
    "specs_too_many",
    # Faults of one spec.
    "spec_not_a_dict",
    "name_invalid",
    "name_prefix",
    "name_repeated",
    "description_invalid",
    "handler_missing",
    "handler_not_callable",
    "handler_is_a_class",
    "handler_unbound",
    "handler_positional_only",
    "handler_unreadable",
    "parameters_invalid",
    "parameters_too_large",
    "parameters_contradict",
    "parameters_underivable",
    "field_invalid",
    "examples_invalid",
]

#: A note tells the author something about a module that works.
NoteKind = Literal[
    "key_unknown",
    "arguments_not_converted",
    "secrets_unreachable",
    "import_unavailable",
    "example_failed",
    "package_hidden",
    "package_start_file",
]

_CODES = {"import_memory": "MEMORY_LIMIT", "import_disk": "DISK_LIMIT"}
_BROKEN = frozenset({"syntax_error", "source_too_nested", "specs_missing", "specs_not_a_list"})


class NoteJson(TypedDict):
    """A note in a report."""

    kind: str
    message: str
    line: NotRequired[int]


class FaultJson(NoteJson):
    """A fault in a report. `code` is an error code of packages/contract."""

    code: str
    traceback: NotRequired[str]


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. `message` tells the author the file, the line and the correction."""

    kind: FaultKind
    message: str
    line: int | None = None
    traceback: str | None = None
    #: The package that was not found; None for every other fault.
    package: str | None = None

    @property
    def code(self) -> str:
        """PACKAGES_REFUSED if its packages cannot be had, MODULE_BROKEN if Python cannot import the module, MODULE_INVALID
        if the module breaks a rule of the runner.
        """
        if self.kind.startswith("packages_"):
            return "PACKAGES_REFUSED"
        is_broken = self.kind in _BROKEN or self.kind.startswith("import_")
        return _CODES.get(self.kind, "MODULE_BROKEN" if is_broken else "MODULE_INVALID")

    def as_json(self) -> FaultJson:
        """The fault in a report."""
        shown: FaultJson = {"code": self.code, "kind": self.kind, "message": self.message}
        if self.line:
            shown["line"] = self.line
        if self.traceback:
            shown["traceback"] = self.traceback
        return shown


class ModuleError(Exception):
    """The whole module cannot be used. A fault in one spec does not raise this error, because the other specs still load."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class SpecError(Exception):
    """One spec cannot be accepted. The text is a sentence that does not name the file, the line or the tool."""

    def __init__(self, kind: FaultKind, sentence: str) -> None:
        super().__init__(sentence)
        self.kind = kind


def fault(kind: FaultKind, where: str, line: int | None, sentence: str) -> Fault:
    """A fault whose message starts with its place, in a form that editors understand.

    `where` is a file, such as `weather/helpers.py`, or the name of a module of one file.
    """
    return Fault(kind, f"{_place(where, line)}: {sentence}", line)


def module_error(kind: FaultKind, where: str, line: int | None, sentence: str) -> ModuleError:
    """The error to raise for a fault of the whole module."""
    return ModuleError(fault(kind, where, line, sentence))


def note(kind: NoteKind, where: str, line: int | None, sentence: str) -> NoteJson:
    """A note whose message starts with its place."""
    shown: NoteJson = {"kind": kind, "message": f"{_place(where, line)}: {sentence}"}
    if line:
        shown["line"] = line
    return shown


def _place(where: str, line: int | None) -> str:
    # The name of a module has no dot and no slash. So a name with one of them is the name of a file.
    file = where if "/" in where or "." in where else f"{where}.py"
    return f"{file}, line {line}" if line else file
