"""What main holds of one child."""

import subprocess
import sys
from pathlib import Path

from toolrack_runner.module.known import CODE_BYTES_MAX
from toolrack_runner.module.limits import ERROR_CHARS_MAX, EXAMPLES_MAX, RESULT_DEPTH_MAX, SPECS_MAX
from toolrack_runner.pool import answer
from toolrack_runner.pool.channel import MESSAGES_MAX
from toolrack_runner.tool_name import is_tool_name
from toolrack_runner.wire import child_messages

ROOT = Path(__file__).parents[3] / "python-runner"


def test_a_check_of_the_largest_module_has_messages_enough() -> None:
    assert SPECS_MAX * EXAMPLES_MAX < MESSAGES_MAX


def test_the_bounds_of_messages_are_those_of_the_module_library() -> None:
    assert child_messages.TOOLS_MAX == SPECS_MAX
    assert child_messages.EXAMPLES_MAX == EXAMPLES_MAX
    assert answer.RESULT_DEPTH_MAX == RESULT_DEPTH_MAX
    assert child_messages.CODE_CHARACTERS_MAX >= CODE_BYTES_MAX / 3 * 4
    assert child_messages.ERROR_CHARACTERS_MAX > 2 * ERROR_CHARS_MAX
    longest = child_messages.TOOL_NAME_CHARACTERS_MAX
    assert is_tool_name("x" * longest)
    assert not is_tool_name("x" * (longest + 1))


def test_main_starts_without_the_library_that_children_work_with() -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import toolrack_runner.serve, toolrack_runner.http.server; "
        "print([name for name in sys.modules if name.startswith('toolrack_runner.module')])"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
