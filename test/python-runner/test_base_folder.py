"""The runner's own folder goes, wherever the runner stands."""

import os
from pathlib import Path

import pytest

from toolrack_runner.base_folder import remove_base


def test_a_folder_goes_though_the_current_one_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    current, base = tmp_path / "current", tmp_path / "base"
    current.mkdir()
    (base / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(current)
    current.rmdir()
    remove_base(str(base))
    assert not base.exists()


def test_what_can_not_be_removed_leaves_the_current_folder_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    remove_base(str(tmp_path / "never made"))
    assert os.path.samefile(".", tmp_path)
