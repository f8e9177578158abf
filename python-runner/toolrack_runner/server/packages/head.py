"""Reads the head of a module: the block `# /// script` of PEP 723, in its main file.

The head is a text of a stranger. Only the requirements that are read from it here reach uv, never the block itself.
"""

import platform
import re
import tomllib
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from toolrack_runner.file_paths import INIT
from toolrack_runner.limits import FILES_BYTES_MAX, SOURCE_BYTES_MAX
from toolrack_runner.near_miss import did_you_mean, named
from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.packages.requirement import Requirement, RequirementError, read_requirement
from toolrack_runner.wire.fault import FaultKind, ModuleError, NoteJson, module_error, note

#: The most bytes of a head. The most requirements that a module may have take 3 KB.
HEAD_BYTES_MAX = 8 * 1024
#: The most dots in a line of a head. `tomllib` needs time that is quadratic in the parts of a dotted key.
LINE_DOTS_MAX = 256
#: How many requirements a module may have, so that resolving them ends soon and a person can read them before consent.
REQUIREMENTS_MAX = 50
#: The most characters of a text from the head that a fault shows.
SHOWN_MAX = 80
_OPENING = "# /// script"
_CLOSING = "# ///"
#: Lines that were meant to open the block.
_MEANT = re.compile(r"#[ \t]*///[ \t]*script[ \t]*", re.ASCII | re.IGNORECASE)
_KEYS = ("dependencies", "requires-python")
_LINE = re.compile(r"\(at line (\d{1,6}), column (\d{1,6})\)")
#: A text without its quotes: a requirement or a condition of a version.
_UNQUOTED = re.compile(r"[A-Za-z<>=~!][A-Za-z0-9._<>=~!-]{0,79}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Head:
    """What a module asks for in its head."""

    #: The file of the head, and the line of its first requirement, for faults.
    where: str
    line: int
    #: Each requirement once, sorted by its text.
    requirements: tuple[Requirement, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """The canonical requirements, as locks and grants have them."""
        return tuple(requirement.text for requirement in self.requirements)

    def notes(self, environment: Environment) -> list[NoteJson]:
        """What the author should know about the packages."""
        notes = []
        if environment.start_files:
            sentence = (
                f"the packages have {named(environment.start_files)}, which Python would run at its start. Here such a file "
                "never runs, so a package that needs it does not work."
            )
            notes.append(note("package_start_file", self.where, self.line, sentence))
        if environment.hidden:
            sentence = (
                f"the packages have {named(environment.hidden)}, as the standard library has. Imports find the standard "
                "library first."
            )
            notes.append(note("package_hidden", self.where, self.line, sentence))
        return notes

    def error(self, kind: FaultKind, sentence: str) -> ModuleError:
        """The error for packages that the module cannot have."""
        return module_error(kind, self.where, self.line, sentence)


def read_head(module: str, source: bytes | dict[str, bytes]) -> Head | None:
    """The head of a module, or None if it has none. Raises ModuleError.

    A source with a fault that the check finds anyway, such as bytes that are not UTF-8, counts as one without a head.
    """
    main = source if isinstance(source, bytes) else source.get(INIT, b"")
    whole = len(source) if isinstance(source, bytes) else sum(map(len, source.values()))
    if (
        b"///" not in main
        or len(main) > SOURCE_BYTES_MAX
        or whole > FILES_BYTES_MAX
        or not module.isidentifier()
    ):
        return None
    try:
        text = main.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    where = module if isinstance(source, bytes) else f"{module}/{INIT}"
    # These are the line breaks of Python. `splitlines` knows others, which are characters of a line here.
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found = _block(where, lines)
    return None if found is None else _read(where, *found)


def _block(where: str, lines: list[str]) -> tuple[int, list[str]] | None:
    """The number of the opening line, counted from 1, and the TOML of the block, or None."""
    opening = [number for number, line in enumerate(lines, 1) if line == _OPENING]
    if not opening:
        meant = next(
            (number for number, line in enumerate(lines, 1) if len(line) < 80 and _MEANT.fullmatch(line)),
            None,
        )
        if meant is not None:
            raise module_error("head_invalid", where, meant, f"the head opens with exactly '{_OPENING}'.")
        return None
    if len(opening) > 1:
        sentence = f"this is a second '{_OPENING}'. Put everything into one block."
        raise module_error("head_invalid", where, opening[1], sentence)
    first = opening[0]
    after = [number for number, line in enumerate(lines[first:], first + 1) if not line.startswith("#")]
    run = lines[first : after[0] - 1 if after else len(lines)]
    closing = max((index for index, line in enumerate(run) if line == _CLOSING), default=None)
    if closing is None:
        sentence = (
            f"the head is not closed. End it with '{_CLOSING}', and begin every line before it with '# '."
        )
        raise module_error("head_invalid", where, first, sentence)
    for number, line in enumerate(run[:closing], first + 1):
        if line != "#" and not line.startswith("# "):
            sentence = "every line of the head is '#', or '# ' and its text."
            raise module_error("head_invalid", where, number, sentence)
        if line.count(".") > LINE_DOTS_MAX:
            raise module_error("head_invalid", where, number, f"the line has more than {LINE_DOTS_MAX} dots.")
    toml = [line[2:] for line in run[:closing]]
    if sum(len(line.encode("utf-8", "replace")) + 1 for line in toml) > HEAD_BYTES_MAX:
        raise module_error("head_invalid", where, first, f"the head has more than {HEAD_BYTES_MAX} bytes.")
    return first, toml


def _read(where: str, first: int, toml: list[str]) -> Head:
    try:
        table = tomllib.loads("\n".join(toml))
    except RecursionError:
        raise module_error("head_invalid", where, first, "the head is nested too deeply.") from None
    except ValueError as error:
        at = _LINE.search(f"{error}")
        sentence = f"the head is no TOML: {_LINE.sub('', f'{error}').strip()[:200]}. {_toml_cure(f'{error}', at, toml)}"
        raise module_error("head_invalid", where, first + int(at[1]) if at else first, sentence) from None
    _refuse_keys(where, first, toml, table)
    _refuse_python(where, _line_of("requires-python", first, toml), table.get("requires-python"))
    line = _line_of("dependencies", first, toml)
    texts = table.get("dependencies", [])
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        sentence = 'dependencies must be a list of texts. Write dependencies = ["pandas>=2"].'
        raise module_error("requirement_invalid", where, line, sentence)
    if len(texts) > REQUIREMENTS_MAX:
        sentence = f"the module has more than {REQUIREMENTS_MAX} dependencies. Name only those that it imports itself."
        raise module_error("requirement_invalid", where, line, sentence)
    requirements = {}
    for text in texts:
        try:
            read = read_requirement(text)
        except RequirementError as error:
            at_text = _line_of(text, first, toml, line)
            sentence = f"the dependency {_shown(text)} cannot be used: {error}."
            raise module_error("requirement_invalid", where, at_text, sentence) from None
        requirements[read.text] = read
    return Head(where, line, tuple(requirements[text] for text in sorted(requirements)))


def _toml_cure(said: str, at: re.Match[str] | None, toml: list[str]) -> str:
    """What to do about a line that is no TOML. The most frequent fault is a text without quotes."""
    if at is None or not said.startswith("Invalid value") or not 0 < int(at[1]) <= len(toml):
        return "Correct the line."
    line = toml[int(at[1]) - 1]
    found = _UNQUOTED.match(line, int(at[2]) - 1)
    if found is None:
        return "Correct the line."
    if line.partition("=")[0].strip() == "requires-python":
        return f'Texts need quotes: requires-python = "{found[0]}".'
    return f'Texts need quotes: dependencies = ["{found[0]}"].'


def _refuse_keys(where: str, first: int, toml: list[str], table: dict[str, object]) -> None:
    tools = table.pop("tool", {})
    if not isinstance(tools, dict) or "uv" in tools:
        sentence = "[tool.uv] has no effect here, because the operator chooses the index. Remove it."
        raise module_error("head_invalid", where, _line_of("tool", first, toml), sentence)
    unknown = next((key for key in table if key not in _KEYS), None)
    if unknown is not None:
        sentence = f"the head has the unknown key {_shown(unknown)}{did_you_mean(unknown, _KEYS)}"
        cure = f" It may have {named(_KEYS)}."
        raise module_error("head_invalid", where, _line_of(unknown, first, toml), sentence + cure)


def _refuse_python(where: str, line: int, wanted: object) -> None:
    if wanted is None:
        return
    try:
        versions = SpecifierSet(wanted) if isinstance(wanted, str) and len(wanted) < SHOWN_MAX else None
    except InvalidSpecifier:
        versions = None
    if versions is None:
        sentence = (
            'requires-python is no condition of a version. Write it such as requires-python = ">=3.11".'
        )
        raise module_error("head_invalid", where, line, sentence)
    here = platform.python_version()
    if not versions.contains(here.rstrip("+"), prereleases=True):
        sentence = (
            f"the module requires Python {versions}, and the runner has Python {here}. Change `requires-python` if the "
            "module works with this version, or ask the operator for another Python."
        )
        raise module_error("python_unsupported", where, line, sentence)


def _line_of(text: str, first: int, toml: list[str], default: int | None = None) -> int:
    """The line of the file in which a text of the head stands first."""
    found = (number for number, line in enumerate(toml, first + 1) if text and text in line)
    return next(found, first if default is None else default)


def _shown(text: str) -> str:
    """A text of the head in quotes, on one line and shortened."""
    return repr(text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…")
