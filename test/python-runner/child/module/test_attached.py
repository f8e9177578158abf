"""Files for arguments: their names are safe, and their paths are in place of the arguments."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from toolrack_runner.child.module.attached import safe_name, with_files

NAMES = {
    "report.csv": "report.csv",
    "Bericht über Köln.pdf": "Bericht über Köln.pdf",
    "../../etc/passwd": "_.._etc_passwd",
    "/etc/passwd": "_etc_passwd",
    "a\\b:c*?.txt": "a_b_c__.txt",
    ".bashrc": "bashrc",
    "...": "file",
    "": "file",
    "-rf": "rf",
    "a\nb\0.csv": "a_b_.csv",
    " spaced .csv ": "spaced .csv",
    "\ud800.csv": "_.csv",
    ".csv": "csv",
}


@pytest.mark.parametrize(("name", "safe"), NAMES.items(), ids=[ascii(each) for each in NAMES])
def test_a_name_keeps_what_is_safe_and_its_end(name: str, safe: str) -> None:
    assert safe_name(name) == safe


@pytest.mark.parametrize("letter", ["x", "é", "漢", "😀"])
def test_a_name_of_300_characters_keeps_its_end(letter: str) -> None:
    name = safe_name(f"{letter * 300}.csv")
    assert name.endswith(".csv")
    assert len(name.encode()) <= 200
    assert len(safe_name(f"a.{letter * 300}").encode()) <= 200


def file(pointer: str, name: str, data: bytes) -> dict[str, str]:
    """A file as the server process sends it."""
    return {"pointer": pointer, "name": name, "data": b64encode(data).decode()}


def test_each_file_has_a_folder_of_its_own_and_its_path_replaces_the_argument(tmp_path: Path) -> None:
    arguments: dict[str, Any] = {"table": "art_1", "more": [{"a/b~c": "art_2"}, "art_3"], "n": 1}
    files = [
        file("/table", "t.csv", b"a,b"),
        file("/more/0/a~1b~0c", "t.csv", b"\0\xff"),
        file("/more/1", "t.csv", b""),
    ]
    given: Any = with_files(arguments, files, str(tmp_path))
    paths = [given["table"], given["more"][0]["a/b~c"], given["more"][1]]
    assert [Path(path).read_bytes() for path in paths] == [b"a,b", b"\0\xff", b""]
    assert {Path(path).name for path in paths} == {"t.csv"}
    assert len(set(paths)) == 3
    assert given["n"] == 1
    assert all(Path(path).stat().st_mode & 0o777 == 0o600 for path in paths)


def test_without_files_nothing_is_written(tmp_path: Path) -> None:
    assert with_files({"a": 1}, (), str(tmp_path)) == {"a": 1}
    assert list(tmp_path.iterdir()) == []


def test_no_link_that_a_module_has_left_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    home = tmp_path / "home"
    home.mkdir()
    (home / ".attached").symlink_to(outside)
    with pytest.raises(FileExistsError):
        with_files({"a": "x"}, [file("/a", "t.csv", b"x")], str(home))
    assert list(outside.iterdir()) == []
