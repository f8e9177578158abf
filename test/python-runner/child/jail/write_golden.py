"""Writes the golden programs anew: `python-runner/.venv/bin/python test/python-runner/child/jail/write_golden.py`.

Read the difference before you commit it: it is what a confined child may do.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[3] / "python-runner")]

from child.jail.listing import program_hex, program_listing, verdicts_listing  # noqa: E402 - the path comes first
from toolrack_runner.child.jail.seccomp.syscalls import TABLES  # noqa: E402

GOLDEN = HERE / "golden"

if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for machine in TABLES:
        (GOLDEN / f"{machine}.hex").write_text(program_hex(machine))
        (GOLDEN / f"{machine}.txt").write_text(program_listing(machine))
    (GOLDEN / "verdicts.txt").write_text(verdicts_listing())
