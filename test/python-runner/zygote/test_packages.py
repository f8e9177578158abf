"""A call of a module answers the same whether its child imported the packages or a zygote did before it."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.own_packages import PackagesRunner, root_with, runner_of, runner_with
from support.until import until

#: True in a zygote, which has no limit of open files of its own.
IN_ZYGOTE = "__import__('resource').getrlimit(7)[0] != 64"

#: Each has a function `answer`, which is the same in every call.
PACKAGES = {
    # Its import fails halfway before the fork. A second import in the same process does not find `part`.
    "halfway/__init__.py": f"""
from . import part
if {IN_ZYGOTE}:
    raise OSError("no place to write to")
answer = lambda: part.VALUE
""",
    "halfway/part.py": "VALUE = 'whole'",
    # Hides the failure of another package.
    "tolerant.py": "try:\n    import halfway\nexcept Exception:\n    halfway = None\nanswer = lambda: 'tolerant'",
    # Works only once in a process.
    "once.py": f"""
import sys
if hasattr(sys, "_once"):
    raise RuntimeError("imported twice")
sys._once = True
if {IN_ZYGOTE}:
    raise RuntimeError("not here")
answer = lambda: 'once'
""",
    "home_writer.py": """
import os.path, pathlib
PLACE = pathlib.Path.home() / ".home_writer" / "inner"
assert PLACE == pathlib.Path(os.path.expanduser("~/.home_writer/inner"))
PLACE.mkdir(parents=True)
(PLACE / "settings").write_text("blue")
def answer():
    with (PLACE / "settings").open("a") as file: file.write(" and red")
    return (PLACE / "settings").read_text()
""",
    "cache_writer.py": """
import os, tempfile
PLACE = os.path.join(os.environ["XDG_CACHE_HOME"], "cache_writer")
TEMPORARY = tempfile.gettempdir()
os.mkdir(PLACE)
def answer():
    for folder in (PLACE, TEMPORARY):
        with open(os.path.join(folder, "list"), "x") as file: file.write("one")
    return sorted(os.listdir(PLACE))
""",
    # Remembers where its home is, and has written nothing.
    "home_finder.py": """
import os
CACHE = {"path": (os.path.expanduser("~/.home_finder"),)}
def answer():
    os.mkdir(CACHE["path"][0])
    return os.listdir(CACHE["path"][0])
""",
    "large_writer.py": """
import pathlib
PLACE = pathlib.Path.home() / "model"
PLACE.write_bytes(bytes(2 << 20))
answer = lambda: PLACE.stat().st_size
""",
    "link_maker.py": f"""
import os
if {IN_ZYGOTE}:
    os.symlink("/", os.path.expanduser("~/link"))
answer = lambda: 'linked'
""",
    "file_keeper.py": "FILE = open(__file__)\nanswer = lambda: len(FILE.read(3))",
    "thread_starter.py": """
import queue, threading
QUESTIONS, ANSWERS = queue.Queue(), queue.Queue()
threading.Thread(target=lambda: ANSWERS.put(QUESTIONS.get()), daemon=True).start()
def answer():
    QUESTIONS.put("asked")
    return ANSWERS.get(timeout=5)
""",
    "leaver.py": f"import os\nif {IN_ZYGOTE}:\n    os._exit(3)\nanswer = lambda: 'here'",
    "quitter.py": f"import sys\nif {IN_ZYGOTE}:\n    sys.exit('no')\nanswer = lambda: 'here'",
    "waiter.py": f"import time\nif {IN_ZYGOTE}:\n    time.sleep(600)\nanswer = lambda: 'here'",
    # Asks for the temporary folder, and does not keep the answer.
    "temporary_user.py": """
import os, tempfile
tempfile.gettempdir()
def answer():
    with tempfile.NamedTemporaryFile() as file:
        return os.path.dirname(file.name) == os.environ["TMPDIR"]
""",
    "plain.py": "answer = lambda: 'plain'",
}
EXPECTED: dict[str, Any] = {
    "halfway": "whole",
    "once": "once",
    "home_writer": "blue and red",
    "cache_writer": ["list"],
    "home_finder": [],
    "large_writer": 2 << 20,
    "link_maker": "linked",
    "file_keeper": 3,
    "thread_starter": "asked",
    "leaver": "here",
    "quitter": "here",
    "waiter": "here",
    "temporary_user": True,
}
#: Packages that a zygote imports, with namespaces and without.
SHARED = {"home_writer", "cache_writer", "home_finder", "temporary_user"}
SHARED_WITHOUT_NAMESPACES = {"temporary_user"}
CALLS = 8

AT_THE_TOP = """
import sys
IS_SHARED = "{package}" in sys.modules
import {package}, plain
def run() -> list:
    return [{package}.answer(), plain.answer(), IS_SHARED, "plain" in sys.modules]
TOOL_SPECS = [{{"name": "{module}:run", "description": "Runs.", "handler": run}}]
"""
IN_THE_FUNCTION = """
import sys
IS_SHARED = "{package}" in sys.modules
def run() -> list:
    import {package}, plain
    return [{package}.answer(), plain.answer(), IS_SHARED, "plain" in sys.modules]
TOOL_SPECS = [{{"name": "{module}:run", "description": "Runs.", "handler": run}}]
"""


def in_a_hurry(root: Path) -> Path:
    """A runner that waits for the import of packages for a shorter time."""
    file = root / "toolrack_runner/server/pool/zygotes.py"
    text = file.read_text()
    assert "IMPORT_SECONDS = 60.0" in text
    file.write_text(text.replace("IMPORT_SECONDS = 60.0", "IMPORT_SECONDS = 3.0"))
    return root


@pytest.fixture(scope="module", params=["with namespaces", "without namespaces"])
def packages(request: pytest.FixtureRequest) -> Iterator[tuple[PackagesRunner, set[str]]]:
    """A runner with all these packages, and those that a zygote imports there."""
    without = request.param == "without namespaces"
    arguments = ("--without=namespaces",) if without else ()
    with root_with(PACKAGES) as root, runner_of(in_a_hurry(root), *arguments) as runner:
        has_namespaces = any(
            layer["name"] == "namespaces" and layer["on"] for layer in runner.live.health()["layers"]
        )
        yield runner, SHARED if has_namespaces else SHARED_WITHOUT_NAMESPACES


@pytest.mark.parametrize("package", EXPECTED)
def test_every_call_answers_the_same(packages: tuple[PackagesRunner, set[str]], package: str) -> None:
    runner, shared = packages
    for number, template in enumerate((AT_THE_TOP, IN_THE_FUNCTION)):
        module = f"{package}_{number}"
        source = template.format(package=package, module=module)
        assert runner.live.check(module, source)["ok"] is True

        def answers(source: str = source, module: str = module) -> list[Any]:
            answer = runner.live.invoke(source, f"{module}:run")
            assert answer.get("value", [None])[:2] == [EXPECTED[package], "plain"], answer
            value: list[Any] = answer["value"]
            return value

        answers()
        if package in shared:
            until(lambda answers=answers: answers()[2], f"a zygote with {package}")  # type: ignore[misc]
        else:
            until(lambda: runner.has_logged(f'"package": "{package}"'), f"why no zygote imports {package}")
        for _ in range(CALLS):
            is_shared = answers()[2]
            assert package in shared or not is_shared


def test_a_package_that_hides_the_failure_of_another_one_is_imported_in_each_call(
    packages: tuple[PackagesRunner, set[str]],
) -> None:
    runner, _ = packages
    tolerant = AT_THE_TOP.format(package="tolerant", module="hides")
    both = AT_THE_TOP.format(package="tolerant", module="both").replace("plain", "halfway")
    runner.live.invoke(tolerant, "hides:run")
    until(lambda: runner.has_logged('"package": "tolerant"'), "why no zygote imports it")
    for _ in range(CALLS):
        assert runner.live.invoke(both, "both:run").get("value", [])[:2] == ["tolerant", "whole"]


def test_the_other_packages_of_a_module_are_still_shared() -> None:
    source = """
import sys
IS_SHARED = "plain" in sys.modules
import halfway, plain
def run() -> list:
    return [halfway.answer(), IS_SHARED]
TOOL_SPECS = [{"name": "others:run", "description": "Runs.", "handler": run}]
"""
    with runner_with(PACKAGES) as runner:

        def answer() -> bool:
            value = runner.live.invoke(source, "others:run").get("value", [None, False])
            assert value[0] == "whole"
            return bool(value[1])

        until(answer, "a zygote with the other package")


NUMBERS = """
import numpy.random
def run() -> list:
    return [numpy.random.IMPORTED, numpy.random.STATE]
TOOL_SPECS = [{"name": "draws:run", "description": "Runs.", "handler": run}]
"""


def test_children_do_not_share_the_random_numbers_of_numpy() -> None:
    numpy = {
        "numpy/__init__.py": "from . import random",
        # As the real one, it has a seed from its import on.
        "numpy/random.py": """
import os
IMPORTED = os.urandom(8).hex()
def seed():
    global STATE
    STATE = os.urandom(8).hex()
seed()
""",
    }
    with runner_with(numpy) as runner:
        #: The state of each child, by the import that its numpy is from.
        states: defaultdict[str, list[str]] = defaultdict(list)

        def four_of_one() -> bool:
            imported, state = runner.live.invoke(NUMBERS, "draws:run")["value"]
            states[imported].append(state)
            return len(states[imported]) == 4

        until(four_of_one, "four children of a zygote with numpy")
        assert [len(set(of_one)) for of_one in states.values() if len(of_one) == 4] == [4]


FULL = """
import os, pathlib, tempfile
def fill(how: str) -> str:
    home = pathlib.Path.home()
    if how == "bytes":
        try:
            for number in range(100):
                (home / f"{number}").write_bytes(bytes(1 << 20))
        except OSError:
            pass
    if how == "files":
        try:
            for number in range(1_000):
                (home / f"{number}").write_bytes(b"")
        except OSError:
            pass
    import cache_writer
    return cache_writer.answer()[0]
def cache() -> str:
    place = pathlib.Path(os.environ["XDG_CACHE_HOME"])
    for number in range(100):
        (place / f"{number}").write_bytes(bytes(1 << 20))
    return "kept"
def temporary() -> str:
    for number in range(1_000):
        try:
            (pathlib.Path.home() / f"{number}").write_bytes(b"")
        except OSError:
            break
    try:
        tempfile.mkdtemp()
    except OSError as error:
        raise OSError("a folder could not be made") from error
    return "made"
TOOL_SPECS = [{"name": f"full:{each.__name__}", "description": "d", "handler": each} for each in (fill, cache, temporary)]
"""


def test_a_home_that_is_full_is_named_and_gone_with_the_call() -> None:
    with runner_with(PACKAGES) as runner:
        for _ in range(4):
            for how in ("bytes", "files"):
                full = runner.live.invoke(FULL, "full:fill", {"how": how})
                assert full.get("code") == "DISK_LIMIT", full
                assert "the tool writes more than its disk quota" in full["error"]
            for tool in ("full:cache", "full:temporary"):
                full = runner.live.invoke(FULL, tool)
                assert full.get("code") == "DISK_LIMIT", full
            assert runner.live.invoke(FULL, "full:fill", {"how": "not"}).get("text") == "list"
