"""Copies files of the zygote's home into each child's home. Packages wrote these files when the zygote imported them.

A package may need such a file later, for example a list of fonts.
"""

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from toolrack_runner.child.jail.workplace import CACHE

#: How many files and folders packages may write into the zygote's home. Each child's copy counts against the child's disk
#: quota.
FILES_MAX: Final = 64
#: How many bytes these files may have together.
BYTES_MAX: Final = 1 << 20


class HomeError(Exception):
    """Packages have written something into the home that cannot be copied for each child."""


@dataclass(frozen=True, slots=True)
class Home:
    """The content of a home. All paths are relative to the home. A folder comes before the files and folders in it."""

    folders: tuple[str, ...] = (CACHE,)
    files: tuple[tuple[str, bytes], ...] = ()

    def fill(self) -> None:
        """Writes the content into the current directory. It is the empty home of a child."""
        for folder in self.folders:
            # Without namespaces, the folder may be left from an earlier child whose files could not be removed.
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
