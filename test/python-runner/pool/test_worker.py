"""What main holds of one child."""

import subprocess
import sys
from pathlib import Path

from toolrack_runner.module.limits import EXAMPLES_MAX, SPECS_MAX
from toolrack_runner.pool.worker import MESSAGES_MAX

ROOT = Path(__file__).parents[3] / "python-runner"


def test_a_check_of_the_largest_module_has_messages_enough() -> None:
    assert SPECS_MAX * EXAMPLES_MAX < MESSAGES_MAX


def test_main_starts_without_the_library_that_children_work_with() -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import toolrack_runner.serve, toolrack_runner.http.server; "
        "print([name for name in sys.modules if name.startswith('toolrack_runner.module')])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
