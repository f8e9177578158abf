"""What Python runs of installed packages at its start does not run in a zygote or a child. The packages are importable."""

import pytest

from support.own_packages import runner_with

FILES = {
    "sitecustomize.py": "import builtins\nbuiltins.SITE_RAN = 'sitecustomize'",
    "usercustomize.py": "import builtins\nbuiltins.USER_RAN = 'usercustomize'",
    "evil.pth": "import builtins; builtins.PTH_RAN = 'pth'\n",
    "operators.py": "VALUE = 'importable'",
}
SOURCE = """
import builtins, operators, sys
def run() -> list:
    ran = [name for name in ("SITE_RAN", "USER_RAN", "PTH_RAN") if hasattr(builtins, name)]
    return [operators.VALUE, ran, sys.prefix != sys.base_prefix, all(map(callable, (exit, quit, help)))]
TOOL_SPECS = [{"name": "sees:run", "description": "Runs.", "handler": run}]
"""


@pytest.mark.parametrize("without", [(), ("--without=namespaces",)])
def test_no_hook_of_an_installed_package_runs_and_its_packages_are_importable(
    without: tuple[str, ...],
) -> None:
    with runner_with(FILES, *without) as runner:
        assert runner.live.check("sees", SOURCE)["ok"]
        for _ in range(4):
            assert runner.live.invoke(SOURCE, "sees:run")["value"] == ["importable", [], True, True]
