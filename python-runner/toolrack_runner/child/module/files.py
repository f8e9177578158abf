"""The texts of a module's files, by the names that faults and tracebacks show. No file is executed here."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from toolrack_runner.child.module.source import source_text, utf8_text
from toolrack_runner.file_paths import INIT, files_fault, module_paths
from toolrack_runner.wire.fault import Fault, ModuleError

#: The source of a module: the bytes of its only file, or the bytes of each of its files by path.
Source: TypeAlias = bytes | Mapping[str, bytes]


@dataclass(slots=True, eq=False)
class ModuleFiles:
    """The files of one module."""

    name: str
    #: The file that exports TOOL_SPECS: `weather.py`, or `weather/__init__.py` in a module of several files.
    main: str
    #: The text of each file by its name, such as `weather/helpers.py`.
    texts: Mapping[str, str]
    _lines: dict[str, Sequence[str]] = field(default_factory=dict)

    @property
    def is_package(self) -> bool:
        """True if the module was sent as several files with paths, even if there is only one of them."""
        return "/" in self.main

    def line(self, file: str, number: int | None) -> str:
        """One line of a file; empty if the file has no such line."""
        if file not in self._lines:
            self._lines[file] = self.texts.get(file, "").splitlines()
        lines = self._lines[file]
        return lines[number - 1] if number is not None and 0 < number <= len(lines) else ""

    @property
    def siblings(self) -> Mapping[str, str]:
        """What imports inside this module can find: the path of each file or folder, by its dotted name (`module_paths`)."""
        return module_paths(file.partition("/")[2] for file in self.texts) if self.is_package else {}

    @property
    def python_files(self) -> Iterator[str]:
        """The names of the Python files, the main one first."""
        yield self.main
        for file in sorted(self.texts):
            if file != self.main and file.endswith(".py"):
                yield file


def known_files(name: str, source: str | Mapping[str, str]) -> ModuleFiles:
    """The files of a module. Their texts were decoded and checked before."""
    if isinstance(source, str):
        return ModuleFiles(name, f"{name}.py", {f"{name}.py": source})
    return ModuleFiles(name, f"{name}/{INIT}", {f"{name}/{path}": text for path, text in source.items()})


def read_files(name: str, source: Source) -> ModuleFiles:
    """The files of a module. Raises ModuleError if there is a fault, with the first one."""
    files, faults = readable_files(name, source)
    for found in faults:
        raise ModuleError(found)
    return files


def readable_files(name: str, source: Source) -> tuple[ModuleFiles, list[Fault]]:
    """Those files of a module that can be read, and a fault for each other one."""
    if not isinstance(source, Mapping):
        return _readable(name, f"{name}.py", {f"{name}.py": source})
    main = f"{name}/{INIT}"
    found = files_fault(name, {path: len(content) for path, content in source.items()})
    if found is not None:
        return ModuleFiles(name, main, {}), [found]
    return _readable(name, main, {f"{name}/{path}": source[path] for path in sorted(source)})


def _readable(name: str, main: str, contents: Mapping[str, bytes]) -> tuple[ModuleFiles, list[Fault]]:
    texts: dict[str, str] = {}
    faults: list[Fault] = []
    for file, content in contents.items():
        try:
            texts[file] = source_text(file, content) if file.endswith(".py") else utf8_text(file, content)
        except ModuleError as error:
            faults.append(error.fault)
    return ModuleFiles(name, main, texts), faults
