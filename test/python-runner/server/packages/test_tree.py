"""Folders of any depth are walked and removed."""

import os
import subprocess
from pathlib import Path

from toolrack_runner.server.packages.tree import files_in, remove_tree


def make_deep(folder: Path, depth: int, name: str) -> None:
    """Makes folders in each other, and a file in the last one, also below a path that is too long for the system."""
    opened = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir(name, dir_fd=opened)
        inner = os.open(name, os.O_RDONLY, dir_fd=opened)
        os.close(opened)
        opened = inner
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, 0o400, dir_fd=opened))
    os.fchmod(opened, 0o500)
    os.close(opened)


def test_a_tree_that_is_deeper_than_a_path_may_be_long_is_removed(tmp_path: Path) -> None:
    (folder := tmp_path / "folder").mkdir()
    make_deep(folder, 1_000, "deep")
    try:
        remove_tree(folder)
        assert not folder.exists()
    finally:
        # pytest removes its folders recursively, and would fail at this one in each later run.
        subprocess.run(["rm", "-rf", folder], check=True)


def test_a_removed_link_leaves_what_it_leads_to(tmp_path: Path) -> None:
    (outside := tmp_path / "outside").mkdir()
    (outside / "kept").write_text("")
    (folder := tmp_path / "folder" / "inner").mkdir(parents=True)
    (folder / "link").symlink_to(outside)
    remove_tree(tmp_path / "folder")
    remove_tree(tmp_path / "missing")
    assert [entry.name for entry in files_in(tmp_path)] == ["kept"]
