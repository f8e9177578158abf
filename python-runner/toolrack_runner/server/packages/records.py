"""The file RECORD of an installed package: its files and their hashes."""

import base64
import csv
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

#: Signatures of a RECORD. No RECORD lists them, because they are made after it.
_SIGNATURES = ("RECORD.jws", "RECORD.p7s")


def records_in(target: Path) -> Iterator[Path]:
    """The RECORD of each package in a folder."""
    return target.glob("*.dist-info/RECORD")


def has_listed_names(target: Path, found: Iterable[str]) -> bool:
    """Whether the files in a folder are those that the packages list: none is missing, and none was added.

    `found` are the paths of all files as uv has installed them, without what was removed or compiled later. The files are
    links to those of uv's cache, and uv looks at the files of a wheel only when it unpacks it.
    """
    listed = {path for record in records_in(target) for path, _ in rows_of(record)}
    return all(path.endswith(_SIGNATURES) for path in listed ^ {*found})


def has_listed_hashes(target: Path, files: Mapping[str, str]) -> bool:
    """Whether each file has the hash that its wheel lists. `files` are the sha256 of all files by their paths."""
    for record in records_in(target):
        for path, hashed in rows_of(record):
            found = files.get(path)
            if found is None or not hashed.startswith("sha256="):
                continue
            listed = base64.urlsafe_b64encode(bytes.fromhex(found)).rstrip(b"=").decode()
            if listed != hashed.removeprefix("sha256="):
                return False
    return True


def rows_of(record: Path) -> Iterator[tuple[str, str]]:
    """The path and the hash in each row of a RECORD, such as `six.py,sha256=…,34549`. The hash may be empty.

    Raises csv.Error.
    """
    with open(record, encoding="utf-8", errors="replace", newline="") as lines:
        for row in csv.reader(lines):
            if row:
                yield row[0], row[1] if len(row) > 1 else ""
