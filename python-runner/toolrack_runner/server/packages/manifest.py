"""The manifest of an environment: what it is, and the sha256 of each of its files. It lies where no child can read it."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.packages.folders import write_whole
from toolrack_runner.server.packages.tree import files_in

#: The version of the format. An environment with another version is built again.
FORMAT = 1


class Manifest(NamedTuple):
    environment: Environment
    #: The sha256 of each file, by its path in the environment.
    files: Mapping[str, str]

    def write(self, path: Path) -> None:
        environment = self.environment
        value = {
            "format": FORMAT,
            "digest": environment.digest,
            "libraryBytes": environment.library_bytes,
            "versions": environment.versions,
            "modules": sorted(environment.modules),
            "startFiles": environment.start_files,
            "hidden": environment.hidden,
            "files": dict(self.files),
        }
        write_whole(path, json.dumps(value))


def read_manifest(path: Path) -> Manifest | None:
    """The manifest in a file; None if there is none of this format."""
    try:
        value = json.loads(path.read_bytes())
        if value["format"] != FORMAT:
            return None
        digest: str = value["digest"]
        environment = Environment(
            digest=digest,
            folder=digest.removeprefix("sha256:"),
            library_bytes=value["libraryBytes"],
            versions=value["versions"],
            modules=frozenset(value["modules"]),
            start_files=tuple(value["startFiles"]),
            hidden=tuple(value["hidden"]),
        )
        return Manifest(environment, value["files"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def hashes_of(folder: Path) -> dict[str, str]:
    """The sha256 of each file below a folder. What is no file has an empty one."""
    root = str(folder)
    hashes: dict[str, str] = {}
    for entry in files_in(folder):
        path = os.path.relpath(entry.path, root)
        if not entry.is_file(follow_symlinks=False):
            hashes[path] = ""
            continue
        with open(entry.path, "rb") as file:
            hashes[path] = hashlib.file_digest(file, "sha256").hexdigest()
    return hashes


def difference(expected: Mapping[str, str], found: Mapping[str, str]) -> str | None:
    """The first file that was changed, added or removed, for the log; None if there is none."""
    for path in sorted(expected.keys() | found.keys()):
        if path not in found:
            return f"{path} was removed"
        if path not in expected:
            return f"{path} was added"
        if expected[path] != found[path]:
            return f"{path} was changed"
    return None
