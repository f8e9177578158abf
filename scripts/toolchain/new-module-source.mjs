/**
 * The source of a new module: one tool whose parameters are derived, with an example. If it needs packages, its head asks for them as
 * PEP 723 says.
 * @param {string} name
 * @param {readonly string[]} [packages]
 */
export function newModuleSource(name, packages = []) {
  const list = packages.map((each) => `"${each}"`).join(', ')
  const head = packages.length === 0 ? '' : `# /// script\n# dependencies = [${list}]\n# ///\n`
  return `${head}"""Tools for a model. Check this file with: npm run tool -- check ${name}.py"""


def repeat(text: str, times: int = 1) -> str:
    """Repeat a text.

    Args:
        text: The text to repeat.
        times: How often the result has it.
    """
    if times < 1:
        # A model reads the text of an exception, so say what to do instead.
        raise ValueError(f"times is {times}. Give 1 or more.")
    return " ".join([text] * times)


TOOL_SPECS = [
    {
        "name": "${name}:repeat",
        "handler": repeat,
        "examples": [
            {"arguments": {"text": "hello"}, "result": "hello"},
            {"arguments": {"text": "hello", "times": 3}, "result": "hello hello hello"},
        ],
    },
]
`
}

/**
 * The source of the new module's test. The test imports only the module and pytest, so it needs no Toolrack.
 * @param {string} name
 * @param {readonly string[]} [packages]
 */
export function newTestSource(name, packages = []) {
  const needs = packages.length === 0 ? 'only pytest' : `pytest and what ${name}.py asks for in its head`
  return `"""Tests of ${name}.py. They need ${needs}: python -m pytest"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ${name}  # noqa: E402 - the folder of the module must be on the path first

EXAMPLES = [
    pytest.param(spec["handler"], example, id=f"{spec['name']}-{index}")
    for spec in ${name}.TOOL_SPECS
    for index, example in enumerate(spec["examples"])
]


@pytest.mark.parametrize(("handler", "example"), EXAMPLES)
def test_an_example_returns_what_it_states(handler, example):
    assert handler(**example["arguments"]) == example["result"]


def test_a_number_below_1_is_refused_with_a_sentence():
    with pytest.raises(ValueError, match="Give 1 or more"):
        ${name}.repeat("hello", times=0)
`
}
