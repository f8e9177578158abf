"""One bad spec is refused with every reason, and its siblings load."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from child.module.tools import MODULES, checked, kinds, loaded
from toolrack_runner.child.module.call import call_tool
from toolrack_runner.child.module.files import known_files
from toolrack_runner.child.module.parse import NOTHING_DECLARED
from toolrack_runner.child.module.specs import read_specs
from toolrack_runner.child.module.trusted_names import TrustedNames

GOOD = "{'name': 'weather:good', 'description': 'Good.', 'handler': good}"


def module_with(spec: str, before: str = "") -> str:
    """A module whose second spec is the one in question; its handler `run` takes a, and b by default."""
    functions = "def good(): return 1\ndef run(a, b=2, context=None): return a\n"
    return f"{functions}{before}\nTOOL_SPECS = [\n  {GOOD},\n  {spec},\n]\n"


def spec_with(**fields: str) -> str:
    """A good spec as source, with some fields in the place of its own; `None` leaves one out."""
    own = {"name": "'weather:run'", "description": "'Runs.'", "handler": "run"} | fields
    return "{" + ", ".join(f"'{key}': {value}" for key, value in own.items() if value != "None") + "}"


SCHEMA = "{'type': 'object', 'properties': {'a': {}}, 'required': ['a']}"


def schema(properties: str, required: str = "['a']", more: str = "") -> str:
    return f"{{'type': 'object', 'properties': {properties}, 'required': {required}{more}}}"


@pytest.mark.parametrize(
    ("spec", "kind", "part"),
    [
        (
            "1",
            "spec_not_a_dict",
            "TOOL_SPECS[1] is an int. Write a dict with name, description, parameters, handler.",
        ),
        ("run", "spec_not_a_dict", "TOOL_SPECS[1] is a function."),
        (
            spec_with(name="None"),
            "name_invalid",
            "TOOL_SPECS[1]: it has no name. Write 'name': 'weather:<function>'.",
        ),
        (spec_with(name="7"), "name_invalid", "its name is an int"),
        (
            spec_with(name="'weather:r un'"),
            "name_invalid",
            "this name is not allowed: a tool name is 1 to 128",
        ),
        (spec_with(name="'weather:' + 'x' * 121"), "name_invalid", "this name is not allowed"),
        (
            spec_with(name="'wether:run'"),
            "name_prefix",
            "a tool is named after its file. Write 'weather:run'.",
        ),
        (spec_with(name="'run'"), "name_prefix", "Write 'weather:run'."),
        (spec_with(name="'weather:'"), "name_prefix", "Write 'weather:<function>'."),
        (
            spec_with(name="'weather:good'"),
            "name_repeated",
            "an earlier spec in line 5 has this name, and keeps it",
        ),
        (spec_with(description="7"), "description_invalid", "its description is an int. Write a string."),
        (
            spec_with(description="None"),
            "description_invalid",
            "its handler has no docstring. Say what the tool does.",
        ),
        (spec_with(description="'  '"), "description_invalid", "has no description"),
        (spec_with(description="'x' * 16_385"), "description_invalid", "16,385 characters of 16,384 allowed"),
        (spec_with(handler="None"), "handler_missing", "it has no handler."),
        (
            spec_with(handler="'run'"),
            "handler_not_callable",
            "the handler is a str, which can't be called. Give the function itself",
        ),
        (spec_with(handler="run(1)"), "handler_not_callable", "the handler is an int"),
        (
            spec_with(handler="Exception"),
            "handler_is_a_class",
            "Give a function, or the method of an instance",
        ),
        (spec_with(handler="lambda a, /: a"), "handler_positional_only", "takes 'a' by position only"),
        (spec_with(handler="len"), "handler_positional_only", "len takes 'obj' by position only"),
        (spec_with(handler="dict.get"), "handler_positional_only", "'self'"),
        (spec_with(handler="Method.run"), "handler_unbound", "run wants 'self'"),
        (
            spec_with(handler="dict(a=1).update"),
            "handler_unreadable",
            "the signature of update can't be read",
        ),
        (spec_with(handler="Sly()"), "handler_unreadable", "raised SystemExit"),
        (spec_with(parameters="[]"), "parameters_invalid", "parameters is a list where a dict is needed"),
        (spec_with(parameters="{'type': 'string'}"), "parameters_invalid", "Write 'type': 'object'"),
        (
            spec_with(parameters="{'properties': {'a': {'default': {1}}}}"),
            "parameters_invalid",
            "parameters['properties']['a']['default'] is a set",
        ),
        (
            spec_with(parameters="{'properties': {1: {}}}"),
            "parameters_invalid",
            "parameters['properties'] has an int as a key",
        ),
        (
            spec_with(parameters="{'default': float('nan')}"),
            "parameters_invalid",
            "parameters['default'] is nan",
        ),
        (spec_with(parameters="endless"), "parameters_invalid", "is nested deeper than 32 levels"),
        (spec_with(parameters="doubled"), "parameters_invalid", "is beyond the 20,000 values allowed"),
        (
            spec_with(parameters=schema("{'a': {'description': 'x' * 32_768}}")),
            "parameters_too_large",
            "at most 32,768 are allowed",
        ),
        (
            spec_with(parameters=schema("{'a': {}, 'c': {}}")),
            "parameters_contradict",
            "its parameters have 'c', but run takes 'a' and 'b'.",
        ),
        (
            spec_with(parameters=schema("{'A': {}}", "['A']")),
            "parameters_contradict",
            "have 'A', but run takes 'a' and 'b'. Did you mean 'a'?",
        ),
        (
            spec_with(parameters=schema("{'b': {}}", "[]")),
            "parameters_contradict",
            "run needs 'a', but its parameters do not have it.",
        ),
        (
            spec_with(handler="lambda args, context: 1", parameters=schema("{'a': {}, 'b': {}}", "['a']")),
            "parameters_contradict",
            "in 'args', but each comes by its name. Write **args at the end of its signature, or name its",
        ),
        (
            spec_with(parameters=schema("{'a': {}}", "[]")),
            "parameters_contradict",
            "run needs 'a', which has no default, but its required lacks it. List it, or give it a default",
        ),
        (
            spec_with(parameters=schema("{'a': {}}", "['a', 'b']")),
            "parameters_contradict",
            "its required lists 'b', but its properties do not.",
        ),
        (
            spec_with(parameters=schema("{'a': {}, 'context': {}}")),
            "parameters_contradict",
            "its parameters have 'context', which run gets from the runner",
        ),
        (spec_with(timeoutSeconds="'5'"), "field_invalid", "timeoutSeconds is not a number above 0"),
        (spec_with(timeoutSeconds="0"), "field_invalid", "timeoutSeconds"),
        (spec_with(timeoutSeconds="True"), "field_invalid", "timeoutSeconds"),
        (spec_with(timeoutSeconds="3601"), "field_invalid", "up to 3,600"),
        (spec_with(timeoutSeconds="float('nan')"), "field_invalid", "timeoutSeconds is nan"),
        (spec_with(limits="[]"), "field_invalid", "limits is not a dict"),
        (
            spec_with(limits="{'callsPerMinutes': 3}"),
            "field_invalid",
            "limits has a key 'callsPerMinutes' that is not known. Did you mean 'callsPerMinute'?",
        ),
        *(
            (
                spec_with(limits=f"{{'concurrent': {value}}}"),
                "field_invalid",
                "concurrent of limits is not a whole number from 1 to 1,000. It counts each user alone",
            )
            for value in ("0", "-1", "1001", "1.0", "True", "'3'", "None")
        ),
        *(
            (
                spec_with(reuse=value),
                "field_invalid",
                "reuse is neither True nor a whole number from 1 to 1,000",
            )
            for value in ("False", "0", "-1", "1001", "1.0", "2.5", "'100'", "[]", "{}")
        ),
        (
            spec_with(secrets="'KEY'"),
            "field_invalid",
            "secrets is not a list of names such as 'WEATHER_API_KEY'",
        ),
        (spec_with(onFailure="[]"), "field_invalid", "onFailure is not a dict"),
        (spec_with(onFailure="{'retry': {1}}"), "field_invalid", "onFailure"),
        (spec_with(secrets="['key']"), "field_invalid", "secrets"),
        (
            spec_with(secrets="['caller:KEY']"),
            "field_invalid",
            "or {'name': 'WEATHER_API_KEY', 'of': 'caller'} for",
        ),
        (
            spec_with(secrets="[{'name': 'KEY', 'of': 'admin'}]"),
            "field_invalid",
            "secrets is not a list of names",
        ),
        (
            spec_with(secrets="[{'name': 'key', 'of': 'caller'}]"),
            "field_invalid",
            "secrets is not a list of names",
        ),
        (
            spec_with(secrets="[{'name': 1, 'of': 'caller'}]"),
            "field_invalid",
            "secrets is not a list of names",
        ),
        (spec_with(secrets="[{'name': 'KEY'}]"), "field_invalid", "secrets is not a list of names"),
        (
            spec_with(secrets="['KEY', {'name': 'KEY', 'of': 'caller'}]"),
            "field_invalid",
            "secrets names 'KEY' twice, once of the caller",
        ),
        (spec_with(secrets="['K'] * 21"), "field_invalid", "secrets has 21 entries; at most 20 are allowed"),
        (
            spec_with(network="['a.b', 'https://a.b/v1']"),
            "field_invalid",
            "network[1] is 'https://a.b/v1', which is no host. Write the host only, such as 'a.b'.",
        ),
        (
            spec_with(network="['*.example.com']"),
            "field_invalid",
            "network[0] is '*.example.com', which is no host. Write the host only, such as 'api.example.com'.",
        ),
        (spec_with(network="['x y\\n' * 999]"), "field_invalid", "network[0] is 'x y\\nx y"),
        (spec_with(network="'a.b'"), "field_invalid", "network is not a list of host names"),
        (spec_with(network="[1]"), "field_invalid", "network is not a list of host names"),
        (spec_with(network="['example.com:99999']"), "field_invalid", "a port above 65535"),
        *[
            (
                spec_with(network=f"['api.example.com', '{address}']"),
                "field_invalid",
                "network[1] is a numeric address, and a tool is connected to hosts by their names. Write a host",
            )
            for address in (
                "10.0.0.1",
                "127.0.0.1:8080",
                "127.1",
                "0x7f.1",
                "2130706433",
                "[::1]",
                "::1",
                "a.1",
            )
        ],
        (spec_with(annotations="[]"), "field_invalid", "annotations is not a dict"),
        (
            spec_with(annotations="{'readOnlyHint': 1}"),
            "field_invalid",
            "readOnlyHint of annotations is an int. Write True or False",
        ),
        (spec_with(annotations="{'title': 1}"), "field_invalid", "title of annotations is not a string"),
        (spec_with(annotations="{'title': 'x' * 70_000}"), "field_invalid", "more than 65,536 characters"),
        (spec_with(examples="{}"), "examples_invalid", "examples is not a list"),
        (spec_with(examples="[1]"), "examples_invalid", "examples[0] is not a dict"),
        (
            spec_with(examples="[{'a': 1}]"),
            "examples_invalid",
            "examples[0] has a key 'a' that is not known.",
        ),
        (spec_with(examples="[{'argument': {}}]"), "examples_invalid", "Did you mean 'arguments'?"),
        (spec_with(examples="[{'result': 1}]"), "examples_invalid", "examples[0] has no 'arguments'"),
        (
            spec_with(examples="[{'arguments': {}, 'context': 1}]"),
            "examples_invalid",
            "the context of examples[0]",
        ),
        (
            spec_with(examples="[{'arguments': {}, 'contains': 1}]"),
            "examples_invalid",
            "'contains' of examples[0]",
        ),
        (
            spec_with(examples="[{'arguments': {}}] * 21"),
            "examples_invalid",
            "there are 21 examples; at most 20",
        ),
        (
            spec_with(examples="[{'arguments': {'a': run}}]"),
            "examples_invalid",
            "examples[0]['arguments']['a'] is a function",
        ),
    ],
)
def test_a_bad_spec_is_refused_with_kind_line_and_cure_and_its_sibling_loads(
    spec: str, kind: str, part: str
) -> None:
    before = """
endless = {}; endless['properties'] = endless
doubled = {}
for _ in range(30): doubled = {'a': doubled, 'b': doubled}
class Method:
    def run(self): ...
class Sly:
    @property
    def __signature__(self): raise SystemExit
    def __call__(self): ...
"""
    report = checked(module_with(spec, before))
    good, bad = report["tools"]
    assert good["accepted"], good
    assert not bad["accepted"]
    assert {fault["kind"] for fault in bad["faults"]} == {kind}, bad["faults"]
    found = bad["faults"][0]
    assert found["code"] == "MODULE_INVALID"
    line = bad["line"]
    assert found["message"].startswith(f"weather.py, line {line}: ")
    assert part.replace("line 5", f"line {line - 1}") in found["message"]
    assert report["ok"]
    assert report["faults"] == []


def test_all_reasons_of_a_spec_are_told_at_once() -> None:
    report = checked(module_with("{'name': 'x', 'description': 1, 'handler': 'run', 'secrets': 1}"))
    assert kinds(report) == ["name_prefix", "handler_not_callable", "description_invalid", "field_invalid"]


@pytest.mark.parametrize(
    "spec",
    [
        spec_with(),
        spec_with(parameters=SCHEMA),
        spec_with(parameters=schema("{'a': {}, 'b': {}}", "['a', 'b']")),
        spec_with(parameters=schema("{}", "[]", ", 'allOf': [{'required': ['a']}]")),
        spec_with(parameters=schema("{'a': {}, 'z': {}}"), handler="lambda a, **rest: a"),
        spec_with(parameters=schema("{'a': {}, 'context': {}}"), handler="lambda a, **rest: a"),
        spec_with(description="None", handler="documented"),
        spec_with(
            timeoutSeconds="0.5",
            reuse="1_000",
            limits="{'callsPerMinute': 30, 'concurrent': 2}",
            secrets="['API_KEY', 'API_KEY', {'name': 'OWN', 'of': 'caller'}]",
            network="['api.example.com', 'db.example.com:8080']",
        ),
        spec_with(
            annotations="{'readOnlyHint': True, 'own': [1, None]}",
            examples="[{'arguments': {'a': 1}, 'result': 1}]",
        ),
        spec_with(parameters="None", examples="None"),
    ],
)
def test_a_good_spec_is_accepted(spec: str) -> None:
    report = checked(module_with(spec, "def documented(a):\n    'Runs.'\n    return a"))
    assert kinds(report) == []
    assert [tool["accepted"] for tool in report["tools"]] == [True, True]


def test_a_secret_of_the_caller_is_reported_with_whose_it_is() -> None:
    secrets = "['API_KEY', {'of': 'caller', 'name': 'OWN'}, 'API_KEY', {'name': 'OWN', 'of': 'caller'}]"
    (_, tool) = checked(module_with(spec_with(secrets=secrets)))["tools"]
    assert tool["secrets"] == ["API_KEY", "caller:OWN"]


def test_what_is_done_after_a_failure_is_reported_as_the_spec_has_it() -> None:
    strategy = "{'retry': {'times': 2}, 'network': {'ask': True, 'unknown': 1}}"
    (_, tool) = checked(module_with(spec_with(onFailure=strategy)))["tools"]
    assert tool["onFailure"] == {"retry": {"times": 2}, "network": {"ask": True, "unknown": 1}}


@pytest.mark.parametrize(("written", "read"), [("True", 100), ("1", 1), ("1_000", 1_000), ("None", None)])
def test_how_many_calls_a_process_may_serve_is_reported(written: str, read: int | None) -> None:
    (_, tool) = checked(module_with(spec_with(reuse=written)))["tools"]
    assert tool["reuse"] == read


@pytest.mark.parametrize(
    "specs",
    [
        "TOOL_SPECS = (GOOD,)",
        "TOOL_SPECS = []\nTOOL_SPECS.append(GOOD)",
        "TOOL_SPECS = [GOOD for _ in range(1)]",
        "globals()['TOOL_' + 'SPECS'] = [GOOD]; TOOL_SPECS",
        "import sys; sys.modules[__name__] = None; TOOL_SPECS = [GOOD]",
    ],
)
def test_specs_may_be_made_at_run_time(specs: str) -> None:
    report = checked(
        "def run(): return 1\nGOOD = {'name': 'weather:run', 'description': 'Runs.', 'handler': run}\n"
        + specs
    )
    assert report["ok"], report


def test_an_unknown_key_is_a_note_with_the_one_that_was_meant() -> None:
    (_, tool) = checked(module_with(spec_with(timeoutSecond="3", more="1")))["tools"]
    assert tool["accepted"]
    assert [note["message"].partition(": ")[2] for note in tool["notes"]] == [
        "'weather:run': the key 'timeoutSecond' means nothing here. Did you mean 'timeoutSeconds'?",
        "'weather:run': the key 'more' means nothing here.",
    ]


def test_no_method_of_the_module_is_called_to_read_its_specs() -> None:
    report = checked((MODULES / "hostile_specs.py").read_bytes(), "hostile_specs")
    assert [tool["accepted"] for tool in report["tools"]] == [True, False, True]
    assert report["tools"][0]["name"] == "hostile_specs:run"
    assert report["tools"][0]["parameters"]["properties"] == {"word": {"type": "string"}}
    assert kinds(report) == ["spec_not_a_dict"]


@pytest.mark.parametrize(
    "spec",
    [
        "{str(i): i for i in range(9_999)}",
        "{'name': 'x' * 100_000}",
        spec_with().replace("}", ", **{'k' * 200 + str(i): 1 for i in range(9_999)}}"),
        spec_with(parameters="{'properties': {'p' * 99 + str(i): {} for i in range(999)}}"),
        spec_with(parameters="{'properties': {'p' + str(i): {} for i in range(999)}}"),
        spec_with(parameters="{'x': [0] * 99_999}"),
        spec_with(examples="[{'arguments': {'x' * 99_999: 1}}]"),
        spec_with(examples="[{'x' * 9_999: 1}]"),
        spec_with(secrets="['X'] * 9_999"),
    ],
)
def test_a_report_stays_small_however_large_its_specs(spec: str) -> None:
    (_, bad) = checked(module_with(spec))["tools"]
    assert len(str(bad)) < 12_000
    assert len(bad["faults"]) <= 20
    assert len(bad["notes"]) <= 20


TRUSTED = TrustedNames()
KEYS = [
    "name",
    "description",
    "parameters",
    "handler",
    "examples",
    "annotations",
    "timeoutSeconds",
    "limits",
    "secrets",
    "network",
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.binary()
    | st.just(object())
    | st.just(len),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.integers() | st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(spec=VALUES | st.fixed_dictionaries({}, optional=dict.fromkeys(KEYS, VALUES)))
def test_whatever_stands_in_the_list_is_refused_or_read(spec: Any) -> None:
    tools, refused = read_specs(known_files("weather", ""), {"TOOL_SPECS": [spec]}, NOTHING_DECLARED, TRUSTED)
    assert len(tools) + len(refused) == 1
    assert all(fault.message.startswith("weather.py") for each in refused for fault in each.faults)


def test_a_module_of_fifty_specs_loads() -> None:
    names = [f"weather:t{number}" for number in range(50)]
    module = loaded(
        f"TOOL_SPECS = [{{'name': n, 'description': n, 'handler': lambda n=n: n}} for n in {names}]"
    )
    assert list(module.tools) == names
    assert call_tool(module, "weather:t49", {}, {}, output_bytes_max=100)["text"] == "weather:t49"
