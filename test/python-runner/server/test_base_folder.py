"""The runner's own folder goes, wherever the runner stands."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support.live_runner import ROOT
from toolrack_runner.server.base_folder import choose_base, parent_folder, remove_base


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


def test_a_folder_for_temporary_files_that_no_socket_fits_below_is_not_taken() -> None:
    assert parent_folder("/tmp/" + "x" * 36) == "/tmp"
    assert parent_folder("/tmp/" + "x" * 35) == "/tmp/" + "x" * 35
    assert parent_folder(None) == parent_folder("") == "/tmp"
    name = os.path.basename(choose_base())
    longest = f"{'x' * 40}/{name.replace(str(os.getpid()), '4194304')}-canaries/everybody/socket"
    assert len(longest) <= 107


def test_a_runner_whose_parent_goes_at_once_leaves_nothing_that_it_planted() -> None:
    folder = tempfile.mkdtemp(dir="/tmp")
    command = [sys.executable, "-I", str(ROOT), "--parent=stdin"]
    environment = {"TMPDIR": folder, "PATH": "/usr/bin:/bin", "HOST": "127.0.0.1", "PORT": "0"}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as started:
        assert started.stdin
        assert started.stdout
        started.stdin.write(b"s" * 32 + b"\n")
        started.stdin.close()
        started.stdout.readline()
        assert started.wait(timeout=60) == 0
    assert os.listdir(folder) == []
    os.rmdir(folder)


def test_a_folder_for_temporary_files_that_is_not_there_is_a_wrong_setting() -> None:
    command = [sys.executable, "-I", str(ROOT), "--parent=stdin"]
    environment = {"TMPDIR": "/no/such/folder", "PATH": "/usr/bin:/bin", "HOST": "127.0.0.1", "PORT": "0"}
    ended = subprocess.run(
        command, check=False, input=b"s" * 32 + b"\n", env=environment, capture_output=True, timeout=60
    )

    assert ended.returncode == 78
    assert b"TMPDIR: nothing can be put into /no/such/folder" in ended.stderr
