"""A child with an environment imports its packages, and no other child sees them."""

import os
import shutil
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from support.environments import LivePool, environments, live_pool
from support.until import until

CASES = {
    "all layers": (),
    "without landlock": ("--without=landlock",),
    "without namespaces": ("--without=namespaces",),
}


@pytest.fixture(scope="module", params=["as_started", "as_nobody"])
def as_nobody(request: pytest.FixtureRequest) -> bool:
    if request.param == "as_nobody" and os.geteuid() != 0:
        pytest.skip("not root: the runner as started is an ordinary user's already")
    return bool(request.param == "as_nobody")


@pytest.fixture(scope="module", params=CASES)
def pool(request: pytest.FixtureRequest, as_nobody: bool) -> Iterator[LivePool]:
    with live_pool(*CASES[request.param], as_nobody=as_nobody) as live:
        yield live


@pytest.fixture(scope="module")
def one_pool() -> Iterator[LivePool]:
    with live_pool() as live:
        yield live


def module(name: str, top: str, expression: str) -> str:
    return (
        f"import os, sys\n{top}\ndef run():\n    return {expression}\n"
        f'TOOL_SPECS = [{{"name": "{name}:run", "description": "Runs.", "handler": run}}]\n'
    )


def answer(
    live: LivePool, source: str, tool: str, environment: dict[str, Any] | None = None, **more: Any
) -> Any:
    outcome = live.call(source, tool, environment, **more)
    assert outcome.get("code") is None, outcome
    assert outcome["error"] is None, outcome
    return outcome["text"] if outcome["value"] is None else outcome["value"]


GREETS = module("greets", "import greet", "greet.hello()")


def test_environments_made_after_the_start_are_imported_and_checked_in_every_jail(pool: LivePool) -> None:
    said = []
    for text in ("Hello", "Bonjour"):
        own = pool.environments.install({"greet/__init__.py": f"hello = lambda: {text!r}"}, greet="1.0")
        report = pool.check("greets", GREETS, own)
        assert (report["ok"], report["missingImports"], report["notes"]) == (True, [], []), report
        said += [answer(pool, GREETS, "greets:run", own, refill=True) for _ in range(3)]
    assert said == ["Hello"] * 3 + ["Bonjour"] * 3


#: The cache of a child, and the folder below /tmp in which this checkout may lie, because its interpreter is shown there.
OF_THE_CHECKOUT = (".cache", *Path(__file__).parts[2:3])


def test_a_module_without_an_environment_sees_none(pool: LivePool) -> None:
    pool.environments.install({"greet/__init__.py": ""}, greet="1.0")
    report = pool.check("greets", GREETS)
    assert (report["ok"], report["missingImports"]) == (False, ["greet"])
    assert "'# dependencies = [\"greet\"]'" in report["faults"][0]["message"]
    listing = (
        f"    for path in ('/packages', '/tmp', {str(pool.environments.folder)!r}):\n"
        f"        try:\n            seen += [n for n in os.listdir(path) if n not in {OF_THE_CHECKOUT!r}]\n"
        "        except OSError:\n            pass\n"
    )
    source = module("lists", f"def listed():\n    seen = []\n{listing}    return seen", "listed()")
    if "landlock" in pool.missing() or "namespaces" not in pool.missing():
        assert answer(pool, source, "lists:run") == []


def test_the_path_of_the_packages_is_after_the_standard_library_and_before_those_of_the_runner(
    one_pool: LivePool,
) -> None:
    own = one_pool.environments.install({"greet.py": "", "statistics.py": "mean = 1 / 0"}, greet="1.0")
    source = module("paths", "import statistics", "[sys.path, statistics.__file__.startswith('/packages')]")
    (path, is_shadowed) = answer(one_pool, source, "paths:run", own)
    place = path.index("/packages")
    assert not is_shadowed
    assert all("site-packages" not in each and "dist-packages" not in each for each in path[:place])
    assert path[place + 1 :]
    assert all("site-packages" in each or "dist-packages" in each for each in path[place + 1 :])


def test_the_environments_of_living_children_are_in_use(one_pool: LivePool) -> None:
    own = one_pool.environments.install({"kept.py": "VALUE = 1"}, kept="1.0")
    source = module("keeps", "import kept", "kept.VALUE")
    assert own["digest"] not in one_pool.in_use()
    assert answer(one_pool, source, "keeps:run", own, refill=True) == 1
    assert own["digest"] in one_pool.in_use()


def test_a_module_may_not_have_the_name_of_a_package_of_its_environment(one_pool: LivePool) -> None:
    own = one_pool.environments.install({"greets/__init__.py": "1 / 0"}, greets="1.0")
    (fault,) = one_pool.check("greets", module("greets", "", "1"), own)["faults"]
    assert fault["kind"] == "module_name_taken"
    assert "a package that the dependencies of the module install" in fault["message"]
    assert one_pool.check("greets", module("greets", "", "1"))["ok"]


def test_a_package_with_the_name_of_the_runner_s_module_is_not_imported(one_pool: LivePool) -> None:
    own = one_pool.environments.install(
        {"toolrack/__init__.py": "1 / 0", "beside.py": "VALUE = 1"}, toolrack="1.0", beside="1.0"
    )
    source = module("makes", "import toolrack, beside", "[toolrack.Image(b'x', 'image/png'), beside.VALUE]")
    assert one_pool.check("makes", source, own)["ok"]
    for _ in range(2):
        shown = {"image": 1, "mimeType": "image/png", "bytes": 1}
        assert answer(one_pool, source, "makes:run", own, refill=True) == [shown, 1]


WHERE = module("where", "import datetime, {package}", "{package}.__file__.startswith('/packages')").replace(
    "def run()", "def run(day: datetime.date)"
)


@pytest.mark.parametrize("package", ["annotated_types", "docstring_parser"])
def test_a_library_that_the_runner_has_in_another_version_is_that_of_the_environment(
    one_pool: LivePool, package: str
) -> None:
    import importlib

    file = importlib.import_module(package).__file__
    assert file is not None
    folder = os.path.dirname(file)
    files: dict[str, str | bytes] = {}
    for root, _, names in os.walk(folder):
        for name in names:
            if name.endswith(".py"):
                place = os.path.join(root, name)
                with open(place, "rb") as source_file:
                    files[f"{package}/{os.path.relpath(place, folder)}"] = source_file.read()
    other = one_pool.environments.install(files, **{package: "0.0.1"})
    source = WHERE.replace("{package}", package)
    # Without an environment, such a module shares the runner's version with a zygote.
    shares = source.replace("where", "shares").replace(
        "import datetime", f"IS = {package!r} in sys.modules\nimport datetime"
    )
    shares = shares.replace(f"return {package}.__file__.startswith('/packages')", "return IS")
    until(
        lambda: answer(one_pool, shares, "shares:run", refill=True, day="2026-01-02") is True,
        "a zygote with the package",
    )
    report = one_pool.check("where", source, other)
    assert (report["ok"], report["missingImports"]) == (True, []), report
    for _ in range(3):
        assert answer(one_pool, source, "where:run", other, refill=True, day="2026-01-02") is True
    # In the same version, what a zygote has imported is the same.
    files["another.py"] = ""
    same = one_pool.environments.install(files, **{package: version(package.replace("_", "-"))})
    assert one_pool.check("where", source, same)["ok"]


def test_libraries_may_take_as_much_address_space_as_the_environment_has(one_pool: LivePool) -> None:
    own = one_pool.environments.install({"small.py": ""}, small="1.0")
    source = module("spaces", "import resource", "resource.getrlimit(resource.RLIMIT_AS)[0]")
    usual = answer(one_pool, source, "spaces:run", own)
    large = own | {"library_bytes": 200 << 20, "digest": "sha256:" + "1" * 64}
    assert answer(one_pool, source, "spaces:run", large) >= usual + (190 << 20)


def test_an_environment_that_is_gone_is_the_runners_fault_and_nothing_runs(one_pool: LivePool) -> None:
    own = one_pool.environments.install({"gone.py": "VALUE = 1"}, gone="1.0")
    shutil.rmtree(one_pool.environments.folder / own["folder"])
    source = module("misses", "import gone", "gone.VALUE")
    assert one_pool.call(source, "misses:run", own)["code"] == "WORKER_DIED"
    assert "No such file" in one_pool.check("misses", source, own)["error"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give each child a user of its own")
def test_without_namespaces_a_folder_that_slots_cannot_enter_is_refused_with_the_cure() -> None:
    with environments(mode=0o700) as closed:
        own = closed.install({"greet.py": "hello = lambda: 'Hello'"}, greet="1.0")
        with live_pool("--without=namespaces", all_environments=closed) as live:
            refused = live.check("greets", GREETS, own)
            assert refused["kind"] == "NoEnvironmentError"
            assert "other users can't enter" in refused["error"]
            assert "TOOLRACK_PACKAGES_DIR" in refused["error"]
            assert live.call(GREETS, "greets:run", own)["kind"] == "NoEnvironmentError"
            plain = module("plain", "", "1")
            assert answer(live, plain, "plain:run") == 1
        with live_pool(all_environments=closed) as live:
            assert answer(live, GREETS, "greets:run", own) == "Hello"


def test_without_a_folder_of_environments_calls_work_and_environments_are_refused() -> None:
    with environments() as gone:
        own = gone.install({"greet.py": ""}, greet="1.0")
        shutil.rmtree(gone.folder)
        with live_pool(all_environments=gone) as live:
            assert "there is no folder" in live.check("greets", GREETS, own)["error"]
            assert answer(live, module("plain", "", "1"), "plain:run") == 1
        gone.folder.mkdir()
