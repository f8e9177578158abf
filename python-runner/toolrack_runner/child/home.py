"""Reads the files that packages wrote into the zygote's home at their import, and copies them into each child's home.

A package may need such a file later, for example a list of fonts.
"""

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from toolrack_runner.child.jail.workplace import CACHE

#: How many files and folders packages may leave in the zygote's home. A child's copy counts against its disk quota.
FILES_MAX: Final = 64
#: How many bytes these files may have together.
BYTES_MAX: Final = 1 << 20


class HomeError(Exception):
    """Packages wrote something into the home that is not copied for each child."""


@dataclass(frozen=True, slots=True)
class Home:
    """The content of a home. All paths are relative to the home. A folder is listed before its files and folders."""

    folders: tuple[str, ...] = (CACHE,)
    files: tuple[tuple[str, bytes], ...] = ()

    def fill(self) -> None:
        """Writes the content into the current directory, which is the empty home of a child."""
        for folder in self.folders:
            # Without namespaces, a child whose files could not be removed may have left the folder.
            with suppress(FileExistsError):
                os.mkdir(folder, 0o700)
        for path, content in self.files:
            with open(path, "wb") as file:
                file.write(content)


def read_home(path: str) -> Home:
    """Reads the content of a home. Raises HomeError if it is too large or has an entry that is neither file nor folder."""
    folders: list[str] = []
    files: list[tuple[str, bytes]] = []
    room = BYTES_MAX
    for place, below, names in os.walk(path):
        folders += [os.path.relpath(os.path.join(place, name), path) for name in sorted(below)]
        links = [name for name in below if os.path.islink(os.path.join(place, name))]
        for name in sorted(links + names):
            full = os.path.join(place, name)
            found = os.lstat(full)
            if not stat.S_ISREG(found.st_mode):
                raise HomeError(f"it makes {name} in its home, which is neither a file nor a folder")
            room -= found.st_size
            if room >= 0:
                with open(full, "rb") as file:
                    files.append((os.path.relpath(full, path), file.read()))
        if room < 0 or len(folders) + len(files) > FILES_MAX:
            raise HomeError(f"it writes more than {FILES_MAX} files or {BYTES_MAX:,} bytes into its home")
    return Home(tuple(folders), tuple(files))
