"""Calls over HTTP. Each runs in its own jailed process."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from support.live_runner import ROOT, LiveRunner, invocation, live_runner

WEATHER = '''
import asyncio


def report(city: str, *, days: int = 1) -> str:
    """A short report."""
    print("looking at", city)
    return f"{city}: cloudy for {days} d"


def numbers(values: list) -> dict:
    """Minimum and maximum."""
    return {"min": min(values), "max": max(values)}


async def later(city: str, context: dict) -> dict:
    """Asynchronous, with its context."""
    await asyncio.sleep(0)
    return {"city": city, "context": context}


def broken(city: str) -> str:
    """Raises."""
    return {}[city]


TOOL_SPECS = [
    {"name": f"weather:{handler.__name__}", "description": handler.__doc__, "handler": handler}
    for handler in (report, numbers, later, broken)
]
'''


def test_a_string_is_the_text_and_what_was_printed_is_the_log(runner: LiveRunner) -> None:
    answer = runner.invoke(WEATHER, "weather:report", {"city": "Bern", "days": 2})
    assert (answer["outcome"], answer["text"]) == ("success", "Bern: cloudy for 2 d")
    assert answer["log"] == {"text": "looking at Bern\n", "truncated": False}
    assert answer["usage"]["maxRssBytes"] > 1 << 20


def test_anything_else_is_json(runner: LiveRunner) -> None:
    answer = runner.invoke(WEATHER, "weather:numbers", {"values": [3, 1, 2]})
    assert answer["value"] == {"min": 1, "max": 3}


def test_an_async_handler_gets_the_context_that_it_names(runner: LiveRunner) -> None:
    answer = runner.invoke(WEATHER, "weather:later", {"city": "Bern"}, context={"session": "s1"})
    assert answer["value"].pop("context").items() >= {"session": "s1"}.items()
    assert answer["value"] == {"city": "Bern"}


def test_an_exception_is_a_failure_with_the_lines_of_the_module(runner: LiveRunner) -> None:
    answer = runner.invoke(WEATHER, "weather:broken", {"city": "Bern"})
    assert answer["code"] == "TOOL_RAISED"
    assert "return {}[city]" in answer["error"]
    assert "toolrack_runner" not in answer["error"]


def test_a_wrong_argument_is_named_with_its_near_miss(runner: LiveRunner) -> None:
    answer = runner.invoke(WEATHER, "weather:report", {"citty": "Bern"})
    assert answer["code"] == "ARGUMENTS_INVALID"
    assert "citty" in answer["error"]
    assert "city" in answer["error"]


def test_a_source_is_asked_for_once(runner: LiveRunner) -> None:
    body = invocation(WEATHER + "# once\n", "weather:report", {"city": "Bern"})
    source = body.pop("source")
    answer = runner.client.post("/invoke", json=body)
    assert answer.status_code == 404
    assert answer.json()["error"]["details"] == [{"reason": "MODULE_UNKNOWN"}]
    assert runner.client.post("/invoke", json=body | {"source": source}).status_code == 200
    assert runner.client.post("/invoke", json=body).json()["text"] == "Bern: cloudy for 1 d"


def test_a_source_with_another_digest_is_refused_and_not_kept(runner: LiveRunner) -> None:
    body = invocation(WEATHER, "weather:report", {"city": "Bern"}) | {"sha256": "0" * 64}
    answer = runner.client.post("/invoke", json=body)
    assert answer.status_code == 400
    assert "sha256 is not the digest of source" in answer.json()["error"]["message"]
    del body["source"]
    assert runner.client.post("/invoke", json=body).status_code == 404


def test_each_call_has_a_process_of_its_own(runner: LiveRunner) -> None:
    source = """
import sys
seen = []
def visit() -> int:
    seen.append(1)
    sys.modules["json"] = None
    return len(seen)
TOOL_SPECS = [{"name": "visits:visit", "description": "Counts.", "handler": visit}]
"""
    assert [runner.invoke(source, "visits:visit")["value"] for _ in range(20)] == [1] * 20


def test_a_tool_that_never_returns_is_killed_at_its_deadline_and_its_line_is_named(
    runner: LiveRunner,
) -> None:
    source = """
def forever() -> None:
    while True:
        pass
TOOL_SPECS = [{"name": "loops:forever", "description": "Never.", "handler": forever}]
"""
    answer = runner.invoke(source, "loops:forever", deadlineMs=3_000)
    assert answer["code"] == "DEADLINE_EXCEEDED"
    assert "(line 4 was running)" in answer["error"] or "(line 3 was running)" in answer["error"]
    assert answer["log"]["text"] == ""


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"tool": ""}, "tool must be a string of 1 to 128 characters"),
        ({"arguments": []}, "arguments must be an object"),
        ({"deadlineMs": 0}, "deadlineMs must be a whole number from 1"),
        ({"deadlineMs": True}, "deadlineMs must be a whole number from 1"),
        ({"sha256": "A" * 64}, "sha256 must be 64 lower-case hexadecimal digits"),
        ({"limits": {"memory": 1}}, "limits: the body has a field that is not known here"),
        ({"limits": {"minIsolation": "L9"}}, "limits.minIsolation must be one of L0, L1"),
        (
            {"user": "me"},
            "the body has a field that is not known here; it takes arguments, attached, context",
        ),
        ({"source": 1}, "source must be a string"),
    ],
)
def test_a_wrong_field_is_named(runner: LiveRunner, change: dict[str, object], sentence: str) -> None:
    answer = runner.client.post("/invoke", json=invocation(WEATHER, "weather:report") | change)
    assert answer.status_code == 400
    assert sentence in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "status", "sentence"),
    [
        (b"", 400, "the body is not valid JSON"),
        (b"{", 400, "the body is not valid JSON"),
        (b'{"a": NaN}', 400, "the body is not valid JSON"),
        (b"[]", 400, "the body is JSON, but not an object"),
        (b'{"arguments": ' + b"[" * 300 + b"]" * 300 + b"}", 400, "more than 34 levels"),
        (b"[" * 100_000, 400, "the body is not valid JSON"),
        (b'"' + b"x" * (12 << 20) + b'"', 413, "the body has more than "),
    ],
)
def test_a_body_that_is_no_object_is_refused(
    runner: LiveRunner, body: bytes, status: int, sentence: str
) -> None:
    for path in ("/invoke", "/check"):
        answer = runner.client.post(path, content=body)
        assert answer.status_code == status
        assert sentence in answer.json()["error"]["message"]


@pytest.mark.parametrize("token", ["", "Bearer", "Bearer x", "Basic x", "Bearer " + "x" * 4_000])
def test_without_the_secret_nothing_is_looked_at(runner: LiveRunner, token: str) -> None:
    for path in ("/invoke", "/check", "/nowhere"):
        answer = runner.client.post(path, content=b"{", headers={"Authorization": token})
        assert answer.status_code == 401
        assert answer.json()["error"]["details"] == [{"reason": "TOKEN_INVALID"}]


def test_an_unknown_route_and_method_are_told(runner: LiveRunner) -> None:
    assert runner.client.get("/nowhere").json()["error"]["details"] == [{"reason": "ROUTE_NOT_FOUND"}]
    assert runner.client.get("/invoke").json()["error"]["details"] == [{"reason": "METHOD_NOT_ALLOWED"}]


@pytest.mark.parametrize("name", ["len", "isinstance", "dict", "str", "Exception", "BaseException"])
def test_a_module_that_breaks_a_builtin_costs_its_own_call(runner: LiveRunner, name: str) -> None:
    source = f"""
import builtins
def run() -> str:
    builtins.{name} = None
    return "done"
TOOL_SPECS = [{{"name": "breaks:run", "description": "Breaks.", "handler": run}}]
"""
    answer = runner.invoke(source, "breaks:run")
    assert answer.get("text") == "done" or answer["code"] in ("TOOL_CRASHED", "RESULT_INVALID")
    assert runner.invoke(WEATHER, "weather:report", {"city": "Bern"})["text"] == "Bern: cloudy for 1 d"


@pytest.mark.parametrize("without", [(), ("--without=namespaces",)], ids=["", "without namespaces"])
def test_a_tool_writes_where_tempfile_and_home_say_and_finds_nothing_there(without: tuple[str, ...]) -> None:
    source = """
import os, pathlib, tempfile
def write() -> dict:
    with tempfile.NamedTemporaryFile() as file:
        file.write(b"x")
    pathlib.Path.home().joinpath("kept").write_text("y")
    cache = pathlib.Path(os.environ["XDG_CACHE_HOME"])
    found = {"here": sorted(os.listdir(".")), "cached": os.listdir(cache)}
    cache.joinpath("kept").write_text("z")
    homes = {os.getcwd(), os.environ["HOME"], os.path.expanduser("~"), str(pathlib.Path.home()), tempfile.gettempdir()}
    return found | {"same": len(homes) == 1 and cache.parent == pathlib.Path.home()}
TOOL_SPECS = [{"name": "writes:write", "description": "Writes.", "handler": write}]
"""
    with live_runner(*without) as live:
        for _ in range(3):
            value = live.invoke(source, "writes:write")["value"]
            assert value == {"here": [".cache", "kept"], "cached": [], "same": True}


def test_a_runner_whose_packages_lie_below_tmp_finds_them(tmp_path: Path) -> None:
    assert str(tmp_path).startswith("/tmp/")
    copy = tmp_path / "python-runner"
    shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    with live_runner(root=copy) as live:
        assert live.check("weather", WEATHER)["ok"] is True


def test_what_a_tool_drops_is_collected_while_it_runs(runner: LiveRunner) -> None:
    source = """
import gc
def litter() -> bool:
    for _ in range(20_000):
        ring = [bytearray(100_000)]
        ring.append(ring)
    return gc.isenabled()
TOOL_SPECS = [{"name": "litters:litter", "description": "Drops 2 GB in rings.", "handler": litter}]
"""
    assert runner.invoke(source, "litters:litter")["value"] is True


SIZES = '''
def texts(characters: int, each: str) -> str:
    """A text."""
    return each * characters


def lists(items: int) -> list:
    """A list."""
    print('1,"log":{"text":"')
    return [{"value": 1.0, "log": {"text": ""}}] * items


TOOL_SPECS = [{"name": f"sizes:{each.__name__}", "handler": each} for each in (texts, lists)]
'''
TAKEN = 256 << 10


@pytest.mark.parametrize("each", ["a", "é", "\x01", '"'])
def test_a_text_of_the_size_that_is_taken_comes_and_one_above_does_not(runner: LiveRunner, each: str) -> None:
    characters = TAKEN // len(each.encode())

    def answer(characters: int) -> dict[str, Any]:
        given = {"characters": characters, "each": each}
        return runner.invoke(SIZES, "sizes:texts", given, limits={"outputBytes": TAKEN})

    assert answer(characters)["text"] == each * characters
    refused = answer(characters + 1)
    size = (characters + 1) * len(each.encode())
    assert (refused["code"], refused["error"]) == (
        "RESULT_TOO_LARGE",
        f"The result of sizes:texts has {size} bytes, and {TAKEN} are allowed; ask for less.",
    )
    assert "text" not in refused


def test_what_a_forged_answer_holds_above_the_size_is_never_sent(runner: LiveRunner) -> None:
    forge = (
        "import os, json, sys\n\ndef forge(size: int) -> str:\n"
        '    """Answers past the check of the child."""\n'
        "    data = json.dumps({'answer': {'json': '[' + '1,' * size + '1]'}}).encode()\n"
        "    frame = len(data).to_bytes(4, 'big') + data\n"
        "    for descriptor in range(3, 20):\n"
        "        try: os.write(descriptor, frame)\n"
        "        except OSError: pass\n"
        "    import time; time.sleep(5)\n\n\n"
        "TOOL_SPECS = [{'name': 'forged:forge', 'handler': forge}]\n"
    )
    for size, told in ((TAKEN, f"{TAKEN * 2 + 3}"), (TAKEN * 8, "more")):
        answer = runner.invoke(forge, "forged:forge", {"size": size}, limits={"outputBytes": TAKEN})
        assert (answer["code"], answer["error"]) == (
            "RESULT_TOO_LARGE",
            f"The result of forged:forge has {told} bytes, and {TAKEN} are allowed; ask for less.",
        )


def test_a_value_stands_between_outcome_and_log_as_the_tool_wrote_it(runner: LiveRunner) -> None:
    answer = runner.client.post("/invoke", json=invocation(SIZES, "sizes:lists", {"items": 2})).text
    written = '[{"value":1.0,"log":{"text":""}},{"value":1.0,"log":{"text":""}}]'
    assert answer.startswith(f'{{"outcome":"success","value":{written},"log":{{"text":"')
    assert answer.rindex(',"log":{"text":"') == len('{"outcome":"success","value":' + written)
