"""What main holds of one child."""

import subprocess
import sys
from pathlib import Path

from toolrack_runner.module.limits import EXAMPLES_MAX, SPECS_MAX
from toolrack_runner.pool.pool import NAME_CHARACTERS_MAX, TOOLS_MAX
from toolrack_runner.pool.worker import MESSAGES_MAX
from toolrack_runner.tool_name import is_tool_name

ROOT = Path(__file__).parents[3] / "python-runner"


def test_a_check_of_the_largest_module_has_messages_enough() -> None:
    assert SPECS_MAX * EXAMPLES_MAX < MESSAGES_MAX


def test_main_takes_the_places_of_as_many_tools_as_a_module_may_have() -> None:
    assert TOOLS_MAX == SPECS_MAX
    assert is_tool_name("x" * NAME_CHARACTERS_MAX)
    assert not is_tool_name("x" * (NAME_CHARACTERS_MAX + 1))


def test_main_starts_without_the_library_that_children_work_with() -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import toolrack_runner.serve, toolrack_runner.http.server; "
        "print([name for name in sys.modules if name.startswith('toolrack_runner.module')])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
