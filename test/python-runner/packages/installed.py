"""The packages of `packages.txt`, installed for the runner of this suite as those of an operator are."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.own_packages import root_with

LOCK = Path(__file__).with_name("packages.txt")
PIP = ("-I", "-m", "pip", "install", "--quiet", "--require-hashes", "--only-binary=:all:", "--no-input")


@contextmanager
def root_with_real_packages() -> Iterator[Path]:
    """A copy of the runner with these packages.

    Where pip cannot install them, the tests are skipped, and the last lines of `npm test` say so. With CI=true they fail.
    """
    with root_with({}) as root:
        command = [str(root / ".venv/bin/python"), *PIP, "--disable-pip-version-check", "--retries=1"]
        ended = subprocess.run(
            [*command, "-r", str(LOCK)], check=False, capture_output=True, text=True, timeout=600
        )
        if ended.returncode:
            _leave_out((ended.stderr.strip().splitlines() or ["pip said nothing"])[-1])
        yield root


def _leave_out(reason: str) -> None:
    said = f"The Python runner with matplotlib, pandas and requests: pip can't install them ({reason})."
    if path := os.environ.get("TOOLRACK_TEST_MISSING"):
        with open(path, "a") as file:
            file.write(f"{said}\n")
    if os.environ.get("CI") == "true":
        pytest.fail(said)
    pytest.skip(said)
