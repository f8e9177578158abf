"""The environment of a module: the installed packages of its lock, in a folder that only this child can read.

The packages are code of strangers. So the folder is added to the import path only after the last message that the server
process trusts. Until then, nothing here executes a file of the folder.
"""

import os
import sys
from importlib.machinery import PathFinder


def use_environment(folder: str) -> None:
    """Makes the packages in this folder importable: after the standard library, before the packages of the runner.

    Does nothing if the folder is empty. No `.pth` file is read.
    """
    if folder:
        sys.path.insert(_place(), folder)


def is_in_environment(package: str, folder: str) -> bool:
    """Whether the environment in this folder has a top-level package or module of this name. Imports nothing."""
    return bool(folder) and PathFinder.find_spec(package, [folder]) is not None


def _place() -> int:
    """The index in `sys.path` of the first folder of installed packages."""
    for index, path in enumerate(sys.path):
        if os.path.basename(path) in ("site-packages", "dist-packages"):
            return index
    return len(sys.path)
