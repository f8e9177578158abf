"""A check tells in stages what a module is, and never raises."""

import json
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from child.module.tools import MODULES, ONE_TOOL, checked, kinds, stages
from toolrack_runner.child.module.check import check_module

NAMES = ["weather", "text_tools", "hostile_specs"]


def test_a_good_module_is_reported_whole() -> None:
    report = checked((MODULES / "weather.py").read_bytes())
    assert report["ok"]
    assert (report["stage"], report["module"]) == ("loaded", "weather")
    assert (report["faults"], report["notes"], report["missingImports"]) == ([], [], [])
    first, second = report["tools"]
    assert first == {
        "name": "weather:get_report",
        "line": 16,
        "accepted": True,
        "description": "Get a short weather report for a place.",
        "parameters": {
            "type": "object",
            "properties": {"location": {"type": "string", "description": "City or region."}},
            "required": ["location"],
        },
        "derived": [],
        "annotations": {"readOnlyHint": True},
        "timeoutSeconds": 5,
        "secrets": [],
        "network": [],
        "reuse": None,
        "limits": None,
        "onFailure": None,
        "kinds": {},
        "faults": [],
        "notes": [],
        "examples": [
            {
                "index": 0,
                "arguments": {"location": "Bern"},
                "outcome": "success",
                "text": "The weather in Bern is cloudy (asked by example).",
                "matched": True,
            },
            {
                "index": 1,
                "arguments": {"location": "Bern"},
                "outcome": "success",
                "text": "The weather in Bern is cloudy (asked by example).",
                "matched": True,
            },
        ],
    }
    assert second["derived"] == ["parameters"]
    assert [example["matched"] for example in second["examples"]] == [True]


@pytest.mark.parametrize("name", NAMES)
def test_every_module_of_the_fixtures_is_accepted_and_reported_in_json(name: str) -> None:
    sent = stages((MODULES / f"{name}.py").read_bytes(), name)
    assert sent[-1]["ok"], sent[-1]
    assert json.loads(json.dumps(sent, allow_nan=False)) == sent


def test_the_stages_come_in_order_and_each_example_is_announced() -> None:
    sent = stages((MODULES / "weather.py").read_bytes())
    assert [message["stage"] for message in sent] == [
        "parsed",
        "imported",
        "running",
        "running",
        "running",
        "loaded",
    ]
    assert [tool["accepted"] for tool in sent[1]["tools"]] == [True, True]
    assert [tool["examples"] for tool in sent[1]["tools"]] == [[], []]
    assert sent[2] == {"stage": "running", "tool": "weather:get_report", "example": 0, "line": 16}


def test_the_parsed_stage_is_sent_before_any_code_of_the_module_runs(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    source = f"import pathlib\npathlib.Path({str(mark)!r}).touch()\ndef run(): ..." + ONE_TOOL
    seen: list[tuple[object, bool]] = []
    check_module("weather", source.encode(), send=lambda sent: seen.append((sent["stage"], mark.exists())))
    assert seen == [("parsed", False), ("imported", True), ("loaded", True)]


def test_a_module_with_a_fault_that_reading_finds_is_not_imported() -> None:
    sent = stages(b"raise SystemExit")
    assert [(report["stage"], report["ok"], kinds(report)) for report in sent] == [
        ("parsed", False, ["specs_missing"]),
        ("loaded", False, ["specs_missing"]),
    ]


def test_the_faults_of_the_import_come_with_line_and_traceback() -> None:
    report = checked("1 / 0")
    assert not report["ok"]
    assert report["line"] == 1
    (found,) = report["faults"]
    assert (found["code"], found["kind"], found["line"]) == ("MODULE_BROKEN", "import_raised", 1)
    assert found["traceback"].endswith("ZeroDivisionError: division by zero")


def test_packages_that_are_not_installed_are_named_unless_the_module_can_do_without() -> None:
    report = checked(
        """
        import json, pydantic
        try:
            import not_there_either
        except ImportError: ...
        def run():
            import not_there, not_there.sub
            import winreg
        """
    )
    assert report["ok"]
    assert report["imports"] == ["json", "pydantic", "not_there_either", "not_there", "winreg"]
    assert report["missingImports"] == ["not_there", "winreg"]
    note = report["notes"][0]
    assert (note["kind"], note["line"]) == ("import_unavailable", 7)
    assert note["message"].startswith("weather.py, line 7: 'not_there' is not installed here")


def test_no_package_is_imported_to_find_out_whether_it_is_there() -> None:
    assert "wave" not in sys.modules
    assert checked("def run():\n    import wave, antigravity")["missingImports"] == []
    assert not {"wave", "antigravity"} & set(sys.modules)


SPEC = "TOOL_SPECS = [{'name': 'weather:run', 'description': 'd', 'handler': run, 'examples': [%s]}]"


@pytest.mark.parametrize(
    ("example", "outcome", "matched", "part"),
    [
        ("{'arguments': {'a': 1}}", "success", None, "1"),
        ("{'arguments': {'a': 1}, 'result': 1}", "success", True, "1"),
        ("{'arguments': {'a': 1}, 'result': '1'}", "success", False, "1"),
        ("{'arguments': {'a': None}, 'result': None}", "success", True, "null"),
        ("{'arguments': {'a': 'x'}, 'result': 'x', 'contains': 'x'}", "success", True, "x"),
        ("{'arguments': {'a': 'x'}, 'result': 'x', 'contains': 'y'}", "success", False, "x"),
        ("{'arguments': {'a': [1, {'b': 2}]}, 'contains': '\"b\":2'}", "success", True, '[1,{"b":2}]'),
        ("{'arguments': {'a': 'x' * 9_000}}", "success", None, "characters left out"),
        (
            "{'arguments': {}}",
            "failure",
            None,
            'break the tool\'s own parameters: "a" is a required property',
        ),
        ("{'arguments': {'a': 1, 'z': 1}}", "failure", None, "break the tool's own parameters"),
        ("{'arguments': {'a': 'raise'}, 'result': 1}", "failure", False, "ZeroDivisionError"),
        ("{'arguments': {'a': 'exit'}}", "failure", None, "ended its process with exit()"),
    ],
)
def test_an_example_is_run_and_compared_with_what_it_says(
    example: str, outcome: str, matched: bool | None, part: str
) -> None:
    source = "def run(a):\n    if a == 'raise': 1 / 0\n    if a == 'exit': exit()\n    return a\n"
    (tool,) = checked(source + SPEC % example)["tools"]
    (ran,) = tool["examples"]
    assert tool["accepted"]
    assert (ran["outcome"], ran["matched"]) == (outcome, matched), ran
    assert part in (ran.get("text") or ran["error"])
    failing = outcome == "failure" or matched is False
    assert [note["kind"] for note in tool["notes"]] == (["example_failed"] if failing else [])


def test_an_example_that_fails_does_not_keep_the_next_from_running() -> None:
    source = "def run(a): return 1 / a\n"
    (tool,) = checked(source + SPEC % "{'arguments': {'a': 0}}, {'arguments': {'a': 1}}")["tools"]
    assert [ran["outcome"] for ran in tool["examples"]] == ["failure", "success"]


def test_an_example_is_reported_with_the_arguments_that_were_written() -> None:
    source = "def run(a): a.append(1); return a\n"
    (tool,) = checked(source + SPEC % "{'arguments': {'a': []}}, {'arguments': {'a': [2]}}")["tools"]
    assert [ran["arguments"] for ran in tool["examples"]] == [{"a": []}, {"a": [2]}]


@pytest.mark.parametrize("needs", ["'secrets': ['KEY']", "'network': ['example.com']"])
def test_an_example_that_needs_what_a_check_has_not_is_skipped_with_the_reason(needs: str) -> None:
    source = "def run(a): 1 / 0\n" + (SPEC % "{'arguments': {'a': 0}}").replace(
        "'examples'", f"{needs}, 'examples'"
    )
    (tool,) = checked(source)["tools"]
    (ran,) = tool["examples"]
    assert (ran["outcome"], ran["reason"]) == ("skipped", "a check has neither secrets nor a network")
    assert tool["accepted"]


def test_a_handler_that_names_secrets_and_takes_no_context_is_accepted_with_a_note() -> None:
    spec = (SPEC % "{'arguments': {'a': 0}}").replace("'examples'", "'secrets': ['KEY'], 'examples'")
    (plain,) = checked("def run(a, context): return a\n" + spec)["tools"]
    (tool,) = checked("def run(a): return a\n" + spec)["tools"]
    assert (plain["notes"], plain["accepted"], tool["accepted"]) == ([], True, True)
    (note,) = tool["notes"]
    assert (note["kind"], note["line"]) == ("secrets_unreachable", tool["line"])
    assert note["message"].endswith('Add the parameter, and read context["secrets"].')


def test_a_module_of_bad_specs_only_is_not_ok_and_one_good_spec_makes_it_so() -> None:
    assert not checked("TOOL_SPECS = [1, 2]")["ok"]
    assert checked(
        "def run(): ...\nTOOL_SPECS = [1, {'name': 'weather:run', 'description': 'd', 'handler': run}]"
    )["ok"]


@given(st.text(max_size=200) | st.text(alphabet="TOOL_SPECS=[]{}'name:handler \n()", max_size=200))
def test_whatever_the_source_a_check_ends_with_a_report(text: str) -> None:
    report = checked(
        text.encode("utf-8", "surrogatepass")
        + b"\nTOOL_SPECS = TOOL_SPECS if 'TOOL_SPECS' in globals() else 0"
    )
    assert report["stage"] == "loaded"
    assert not report["ok"]
    assert report["faults"][0]["message"]
