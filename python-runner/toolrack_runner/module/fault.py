"""What can be wrong with a module: the closed list of kinds, each documented in docs/modules.md."""

from dataclasses import dataclass
from typing import Literal, get_args

FaultKind = Literal[
    # The source, found by reading it.
    "module_name_invalid",
    "module_name_taken",
    "source_too_large",
    "source_not_utf8",
    "source_has_nul",
    "syntax_error",
    "source_too_nested",
    "specs_missing",
    # The import.
    "import_raised",
    "import_not_installed",
    "import_exited",
    "import_denied",
    "import_memory",
    "import_disk",
    "import_hung",
    "import_crashed",
    "specs_not_a_list",
    "specs_empty",
    "specs_too_many",
    # One spec.
    "spec_not_a_dict",
    "name_invalid",
    "name_prefix",
    "name_repeated",
    "description_invalid",
    "handler_missing",
    "handler_not_callable",
    "handler_is_a_class",
    "handler_unbound",
    "handler_generator",
    "handler_positional_only",
    "handler_unreadable",
    "parameters_invalid",
    "parameters_too_large",
    "parameters_contradict",
    "parameters_underivable",
    "field_invalid",
    "examples_invalid",
]

#: What a module's author should know; the module works all the same.
NoteKind = Literal["key_unknown", "import_unavailable", "example_failed"]

FAULT_KINDS: tuple[str, ...] = get_args(FaultKind)
NOTE_KINDS: tuple[str, ...] = get_args(NoteKind)

_CODES = {"import_memory": "MEMORY_LIMIT", "import_disk": "DISK_LIMIT"}
_BROKEN = frozenset({"syntax_error", "source_too_nested", "specs_missing", "specs_not_a_list"})


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong; `message` is a sentence for the author that names file, line and cure."""

    kind: FaultKind
    message: str
    line: int | None = None
    traceback: str | None = None

    @property
    def code(self) -> str:
        """The error code of packages/contract: broken where Python can't import it, else invalid by the convention."""
        if self.kind in _CODES:
            return _CODES[self.kind]
        is_broken = self.kind in _BROKEN or self.kind.startswith("import_")
        return "MODULE_BROKEN" if is_broken else "MODULE_INVALID"


@dataclass(frozen=True, slots=True)
class Note:
    """One thing worth knowing about a module that works."""

    kind: NoteKind
    message: str
    line: int | None = None


class ModuleFault(Exception):
    """The whole module is refused. Not for one bad spec: its siblings load."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault
        self.code = fault.code
        self.message = fault.message
        self.line = fault.line


def fault(kind: FaultKind, module: str, line: int | None, sentence: str) -> Fault:
    """A fault whose message starts with the place, as an editor understands it."""
    return Fault(kind, f"{place(module, line)}: {sentence}", line)


def note(kind: NoteKind, module: str, line: int | None, sentence: str) -> Note:
    """A note whose message starts with the place."""
    return Note(kind, f"{place(module, line)}: {sentence}", line)


def place(module: str, line: int | None) -> str:
    """Where something stands: `weather.py, line 7`."""
    return f"{module}.py, line {line}" if line else f"{module}.py"
