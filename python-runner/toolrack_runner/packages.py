"""Which packages are installed beside the standard library: what an import of a tool may name."""

import sys
from pathlib import Path


def installed_packages() -> frozenset[str]:
    """Top-level names that can be imported from the folders of installed packages; nothing is imported to find out."""
    names: set[str] = set()
    for folder in map(Path, sys.path):
        if folder.name not in ("site-packages", "dist-packages") or not folder.is_dir():
            continue
        for entry in folder.iterdir():
            name = entry.name.partition(".")[0]
            is_package = entry.is_dir() and "." not in entry.name
            if name.isidentifier() and (is_package or entry.suffix in (".py", ".so")):
                names.add(name)
    return frozenset(names - sys.stdlib_module_names)
