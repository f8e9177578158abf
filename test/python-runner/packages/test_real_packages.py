"""Modules that use matplotlib, pandas, numpy and requests answer in every call."""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from packages.installed import root_with_real_packages
from support.own_packages import PackagesRunner, runner_of
from support.until import until

CALLS = 20
#: What each package does in the function `run`, and its import.
WORK = {
    "matplotlib": (
        "import matplotlib.pyplot as plt",
        """
    import io
    figure, axes = plt.subplots()
    axes.plot([1, 2, 3])
    image = io.BytesIO()
    figure.savefig(image, format="png")
    return image.getvalue()[:8]
""",
    ),
    "pandas": ("import pandas as pd", "    return pd.DataFrame({'a': [1, 2, 3]})['a'].sum()\n"),
    "requests": (
        "import requests",
        "    return requests.Request('GET', 'https://a.example').prepare().url\n",
    ),
}
EXPECTED: dict[str, Any] = {
    "matplotlib": base64.b64encode(b"\x89PNG\r\n\x1a\n").decode(),
    "pandas": 6,
    "requests": "https://a.example/",
}


def module(name: str, line: str, work: str, *, inside: bool) -> str:
    """A module of one tool, whose import is at the top or inside the function."""
    top, within = ("", f"    {line}\n") if inside else (f"{line}\n", "")
    specs = f'TOOL_SPECS = [{{"name": "{name}:run", "description": "Runs.", "handler": run}}]\n'
    return f"{top}def run():\n{within}{work}{specs}"


@pytest.fixture(scope="module")
def root() -> Iterator[Path]:
    with root_with_real_packages() as found:
        yield found


@pytest.fixture(scope="module")
def runner(root: Path) -> Iterator[PackagesRunner]:
    with runner_of(root) as found:
        yield found


def answer(runner: PackagesRunner, source: str, tool: str) -> Any:
    """The value or the text of a call."""
    outcome = runner.live.invoke(source, tool)
    assert outcome["outcome"] == "success", outcome
    return outcome.get("value", outcome.get("text"))


@pytest.mark.parametrize("inside", [False, True], ids=["at the top", "in the function"])
@pytest.mark.parametrize("package", WORK)
def test_every_call_answers(runner: PackagesRunner, package: str, inside: bool) -> None:
    name = f"uses_{package}_{'inside' if inside else 'top'}"
    source = module(name, *WORK[package], inside=inside)
    assert runner.live.check(name, source)["ok"] is True
    for _ in range(CALLS):
        assert answer(runner, source, f"{name}:run") == EXPECTED[package]


@pytest.mark.parametrize("package", WORK)
def test_a_zygote_imports_the_package_for_all_calls(runner: PackagesRunner, package: str) -> None:
    line, _ = WORK[package]
    name = f"shares_{package}"
    own = f"import sys\nIS_SHARED = {package!r} in sys.modules\n"
    source = own + module(name, line, "    return IS_SHARED\n", inside=False)
    until(lambda: answer(runner, source, f"{name}:run") is True, f"a zygote with {package}")


def test_calls_do_not_share_random_numbers(runner: PackagesRunner) -> None:
    line = "import sys\nIS_SHARED = 'pandas' in sys.modules\nimport numpy, pandas"
    work = "    return [IS_SHARED, float(numpy.random.rand())]\n"
    source = module("draws", line, work, inside=False)
    until(lambda: answer(runner, source, "draws:run")[0], "a zygote with pandas")
    drawn = [answer(runner, source, "draws:run") for _ in range(4)]
    assert len({number for _, number in drawn}) == len(drawn)


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("np.int64(3)", 3),
        ("[np.float32(1.5), np.float64(2.5), np.longdouble('0.5')]", [1.5, 2.5, 0.5]),
        ("[np.bool_(True), np.str_('a')]", [True, "a"]),
        ("[np.float32('nan'), np.float64('nan'), pd.NA, pd.NaT]", [None] * 4),
        ("[np.datetime64('NaT'), np.timedelta64('NaT')]", [None] * 2),
        ("np.float64('nan')", None),
        ("[np.datetime64('2026-01-02'), pd.Timestamp('2026-01-02 03:04')]", ["2026-01-02", "2026-01-02T03:04:00"]),
        ("np.datetime64('2026-01-02T03:04:05.5', 'ns')", "2026-01-02T03:04:05.5"),
        ("[pd.Timedelta('90s'), np.timedelta64(1500, 'ms').astype('m8[ns]')]", ["PT1M30S", "PT1.5S"]),
        ("np.timedelta64(3, 'M')", "3 months"),
        ("{np.int64(1): np.uint8(2)}", {"1": 2}),
        ("TABLE.replace({float('nan'): None}).to_dict('records')[0]", {"a": 1, "b": 1.5, "c": "2026-01-02T00:00:00"}),
        ("TABLE.replace({float('nan'): None}).to_dict('records')[1]", {"a": 2, "b": None, "c": None}),
        ("[TABLE['a'].describe()['max'], TABLE['b'].sum()]", [2.0, 1.5]),
        ("np.arange(3).tolist()", [0, 1, 2]),
    ],
)  # fmt: skip
def test_scalars_and_missing_values_are_plain_json(
    runner: PackagesRunner, expression: str, value: object
) -> None:
    assert answer(runner, results(expression), "results:run") == value


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("TABLE", "is a DataFrame, which JSON has no form for; return value.replace({float('nan'): None}).to_dict"),
        ("TABLE['a']", "is a Series, which JSON has no form for; return value.tolist()"),
        ("np.arange(3)", "is a ndarray, which JSON has no form for; return value.tolist()"),
        ("TABLE.to_dict('records')", "['b'] is nan, which JSON has no form for; return None, or text in its place. For"),
        ("np.float32('inf')", "is inf, which JSON has no form for"),
    ],
)  # fmt: skip
def test_tables_arrays_and_infinity_are_refused(runner: PackagesRunner, expression: str, said: str) -> None:
    outcome = runner.live.invoke(results(expression), "results:run")
    assert outcome.get("code") == "RESULT_INVALID", outcome
    assert said in outcome["error"]


def results(expression: str) -> str:
    """A module whose tool returns the value of an expression."""
    lines = """import numpy as np, pandas as pd
TABLE = pd.DataFrame({"a": [1, 2], "b": [1.5, np.nan], "c": [pd.Timestamp("2026-01-02"), pd.NaT]})"""
    return module("results", lines, f"    return {expression}\n", inside=False)


def test_charts_answer_without_namespaces_too(root: Path) -> None:
    source = module("charts", *WORK["matplotlib"], inside=False)
    with runner_of(root, "--without=namespaces") as runner:
        assert answer(runner, source, "charts:run") == EXPECTED["matplotlib"]
        until(lambda: runner.has_logged('"package": "matplotlib"'), "why no zygote imports it")
        for _ in range(4):
            assert answer(runner, source, "charts:run") == EXPECTED["matplotlib"]
