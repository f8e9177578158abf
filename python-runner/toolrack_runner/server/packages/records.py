"""The file RECORD of an installed package: its files and their hashes."""

import base64
from collections.abc import Mapping
from pathlib import Path


def differs_from_records(target: Path, files: Mapping[str, str]) -> bool:
    """Whether a file is not the one that its wheel lists.

    The files of an environment are links to those of uv's cache, and uv compares the hash of a wheel only when it
    is downloaded.
    """
    for record in target.glob("*.dist-info/RECORD"):
        with open(record, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                path, hashed = fields_of(line)
                found = files.get(path)
                if found is None or not hashed.startswith("sha256="):
                    continue
                listed = base64.urlsafe_b64encode(bytes.fromhex(found)).rstrip(b"=").decode()
                if listed != hashed.removeprefix("sha256="):
                    return True
    return False


def fields_of(line: str) -> tuple[str, str]:
    """The path and the hash in a line of a RECORD, such as `six.py,sha256=…,34549`. The hash may be empty."""
    rest, _, _ = line.rpartition(",")
    path, _, hashed = rest.rpartition(",")
    return path.strip('"'), hashed
