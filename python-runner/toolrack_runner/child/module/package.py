"""Imports a module of several files as a Python package, from its compiled code.

The files are also written to the working folder of the child. There `__file__`, `importlib.resources` and `pkgutil` find
them. The import itself takes the code from memory.
"""

import marshal
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType
from typing import Any

from toolrack_runner.child.module.files import ModuleFiles
from toolrack_runner.child.module.source import code_object
from toolrack_runner.file_paths import INIT, folders_of

#: The code of Python files by their names. Code in bytes is marshalled. A file that is missing here is compiled at its
#: import.
Codes = Mapping[str, CodeType | bytes]


def import_package(files: ModuleFiles, codes: Codes) -> dict[str, Any]:
    """Writes the files, and runs the code of the package. Returns its namespace. Raises whatever this code raises."""
    folder = f"{os.getcwd()}/{files.name}"
    _write(folder, files)
    sys.meta_path.insert(0, _Finder(folder, files, codes))
    return vars(import_module(files.name))


def forget_package(name: str) -> None:
    """Removes from `sys` what is left of a module whose import failed. Never raises, whatever the module did to `sys`."""
    with suppress(BaseException):
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
        names: list[object] = list(sys.modules)
        for found in names:
            if found == name or (isinstance(found, str) and found.startswith(f"{name}.")):
                del sys.modules[str(found)]


def _write(folder: str, files: ModuleFiles) -> None:
    made: set[str] = set()
    for file, text in files.texts.items():
        path = file.partition("/")[2]
        for inner in ("", *folders_of(path)):
            if inner not in made:
                made.add(inner)
                os.makedirs(f"{folder}/{inner}", exist_ok=True)
        with open(f"{folder}/{path}", "w", encoding="utf-8", newline="") as written:
            written.write(text)


class _Finder:
    """Finds the files of one module, and nothing else."""

    def __init__(self, folder: str, files: ModuleFiles, codes: Codes) -> None:
        name = files.name
        self._folder = folder
        self._files = files
        self._codes = codes
        self._paths = {
            f"{name}.{dotted}" if dotted else name: path for dotted, path in files.siblings.items()
        }

    def find_spec(self, fullname: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        path = self._paths.get(fullname)
        if path is None:
            return None
        place = f"{self._folder}/{path}"
        if not path.endswith(".py"):
            spec = ModuleSpec(fullname, _FolderLoader(fullname, f"{place}/{INIT}"), is_package=True)
            spec.submodule_search_locations = [place]
            return spec
        file = f"{self._files.name}/{path}"
        loader = _FileLoader(fullname, place, file, self._files, self._codes)
        spec = ModuleSpec(fullname, loader, origin=place, is_package=loader.is_package(fullname))
        spec.has_location = True
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations = [os.path.dirname(place)]
        return spec


class _FileLoader(SourceFileLoader):
    """Loads the code of one file.

    Data and resources are read by inherited methods, from the files that `_write` has written.
    """

    def __init__(self, fullname: str, path: str, file: str, files: ModuleFiles, codes: Codes) -> None:
        super().__init__(fullname, path)
        self._file = file
        self._files = files
        self._codes = codes

    def get_code(self, _fullname: str) -> CodeType:
        code = self._codes.get(self._file)
        if code is None:
            return code_object(self._file, self._files.texts[self._file])
        return marshal.loads(code) if isinstance(code, bytes) else code  # noqa: S302 - from a child before any user code ran

    def get_source(self, _fullname: str) -> str:
        return self._files.texts[self._file]


class _FolderLoader(SourceFileLoader):
    """Stands for a folder without `__init__.py`. Python finds the files in the folder, but the folder has no code to run."""

    def exec_module(self, module: ModuleType) -> None:
        pass
