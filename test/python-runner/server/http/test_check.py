"""`POST /check` answers a report whatever the bytes are."""

import base64
import hashlib

import pytest

from support.live_runner import LiveRunner

SOURCE = (
    "def run(): return 'ü'\nTOOL_SPECS = [{'name': 'words:run', 'description': 'Runs.', 'handler': run}]\n"
)


def check_bytes(runner: LiveRunner, source: bytes) -> dict[str, object]:
    """The report on a file that is sent as base64."""
    encoded = base64.b64encode(source).decode()
    answer = runner.client.post("/check", json={"name": "words", "sourceBase64": encoded})
    assert answer.status_code == 200, answer.text
    report: dict[str, object] = answer.json()
    return report


def test_bytes_are_the_same_file_as_text(runner: LiveRunner) -> None:
    as_text, as_bytes = runner.check("words", SOURCE), check_bytes(runner, SOURCE.encode())
    assert as_bytes["tools"] == as_text["tools"]
    assert as_bytes["sha256"] == as_text["sha256"] == hashlib.sha256(SOURCE.encode()).hexdigest()


@pytest.mark.parametrize(
    ("encoding", "sentence"),
    [
        ("latin-1", "words.py, line 1: byte 0xFC is not UTF-8. Save the file as UTF-8."),
        ("utf-16", "words.py, line 1: the file is UTF-16. Save it as UTF-8."),
    ],
)
def test_bytes_that_are_not_utf_8_are_told_with_their_line(
    runner: LiveRunner, encoding: str, sentence: str
) -> None:
    report = check_bytes(runner, SOURCE.encode(encoding))
    assert (report["ok"], report["faults"]) == (
        False,
        [
            {
                "code": "MODULE_INVALID",
                "kind": "source_not_utf8",
                "message": sentence,
                "line": 1,
            }
        ],
    )
    assert report["sha256"] == hashlib.sha256(SOURCE.encode(encoding)).hexdigest()


@pytest.mark.parametrize(
    "fields",
    [{}, {"source": SOURCE, "sourceBase64": ""}, {"source": 1}, {"sourceBase64": "é"}, {"sourceBase64": "a"}],
)
def test_a_body_without_one_source_is_refused(runner: LiveRunner, fields: dict[str, object]) -> None:
    answer = runner.client.post("/check", json={"name": "words", **fields})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == (
        "the body must have one of source, a string; sourceBase64, the file in base64; files, an object of paths and "
        "strings; or filesBase64, an object of paths and files in base64"
    )


@pytest.mark.parametrize(
    ("character", "is_ok"),
    [("\N{LATIN SMALL LETTER E WITH ACUTE}", True), ("\N{MUSICAL SYMBOL G CLEF}", False)],
)
def test_specs_that_take_more_than_a_report_may_have_are_refused_with_the_reason(
    runner: LiveRunner, character: str, is_ok: bool
) -> None:
    # Characters are counted in a description, and bytes in a report: two and four of them.
    source = f"""
def run() -> str:
    return "run"
TEXT = {character!r} * 16_384
TOOL_SPECS = [{{"name": f"much:t{{n}}", "description": TEXT, "handler": run}} for n in range(50)]
"""
    report = runner.check("much", source)
    assert report["ok"] == is_ok
    if not is_ok:
        assert [fault["kind"] for fault in report["faults"]] == ["specs_too_many"]
        assert "takes more than 3145728 bytes" in report["faults"][0]["message"]
