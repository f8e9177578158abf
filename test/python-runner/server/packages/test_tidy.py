"""What uv would let through is found in the installed files."""

import csv
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from toolrack_runner.server.packages.refusal import PackagesRefusedError
from toolrack_runner.server.packages.tidy import tidy


def _set_uid(folder: Path) -> None:
    (folder / "program").write_text("")
    (folder / "program").chmod(0o4755)


def _record(folder: Path) -> None:
    (folder / "alpha-1.0.dist-info").mkdir()
    (folder / "alpha-1.0.dist-info" / "RECORD").write_text("alpha.py,,\n../../outside.py,,\n")


def _record_absolute(folder: Path) -> None:
    (folder / "alpha-1.0.dist-info").mkdir()
    (folder / "alpha-1.0.dist-info" / "RECORD").write_text('"/etc/outside,1",sha256=x,3\n')


def _record_long(folder: Path) -> None:
    (folder / "alpha-1.0.dist-info").mkdir()
    (folder / "alpha-1.0.dist-info" / "RECORD").write_text(f"{'x' * (1 << 20)},,\n")


HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "link": (lambda folder: (folder / "link").symlink_to("/etc/passwd"), "is no file"),
    "inner link": (lambda folder: (folder / "link").symlink_to("alpha.py"), "is no file"),
    "link to a folder": (lambda folder: (folder / "link").symlink_to("/etc"), "is no file"),
    "pipe": (lambda folder: os.mkfifo(folder / "pipe"), "is no file"),
    "set-uid": (_set_uid, "rights of another user"),
    "unprintable": (lambda folder: (folder / "a\n.py").write_text(""), "unprintable"),
    "record": (_record, "outside of the environment"),
    "record with a long field": (_record_long, "is no table"),
    "absolute record": (_record_absolute, "outside of the environment"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_that_no_package_may_have_is_refused(tmp_path: Path, case: str) -> None:
    make, sentence = HOSTILE[case]
    (tmp_path / "alpha.py").write_text("")
    make(tmp_path)
    with pytest.raises(PackagesRefusedError, match=sentence) as refused:
        tidy(tmp_path)
    assert refused.value.kind == "packages_unsafe"
    assert f"{refused.value}".isprintable()


def test_what_is_removed_is_removed_as_a_link_and_nothing_outside_is(tmp_path: Path) -> None:
    outside, folder = tmp_path / "outside", tmp_path / "folder"
    outside.mkdir()
    folder.mkdir()
    (outside / "kept").write_text("")
    for name in ("bin", "x.pth", "sitecustomize"):
        (folder / name).symlink_to(outside)
    assert tidy(folder).start_files == ("sitecustomize", "x.pth")
    assert os.listdir(folder) == []
    assert os.listdir(outside) == ["kept"]


@pytest.mark.parametrize(
    ("added", "removed", "is_as_listed"),
    [("", "", True), ("beta.py", "", False), ("", "alpha.py", False), ("alpha-1.0.dist-info/RECORD.jws", "", True)],
)  # fmt: skip
def test_a_file_that_no_package_lists_and_a_listed_one_that_is_missing_are_noticed(
    tmp_path: Path, added: str, removed: str, is_as_listed: bool
) -> None:
    (info := tmp_path / "alpha-1.0.dist-info").mkdir()
    files = ("alpha.py", "evil.pth", 'a "b",\xfc.txt', "alpha-1.0.dist-info/RECORD")
    for name in (*files, *filter(None, [added])):
        (tmp_path / name).write_text("")
    with open(info / "RECORD", "w", newline="") as record:
        csv.writer(record).writerows((name, "", "") for name in files)
    if removed:
        (tmp_path / removed).unlink()
    assert tidy(tmp_path).is_as_listed == is_as_listed
