"""The lines that the runner's README tells people to copy."""

import json
import shlex
from pathlib import Path

from support.live_runner import LiveRunner

README = Path(__file__).parents[2] / "python-runner" / "README.md"


def test_the_two_curl_lines_check_a_module_and_call_it(runner: LiveRunner) -> None:
    lines = [shlex.split(line) for line in README.read_text().splitlines() if line.startswith("curl ")]
    answers = []
    for _, _, header, url, _, body in lines:
        assert header == "Authorization: Bearer a-secret-of-your-own"
        answer = runner.client.post(url.removeprefix("http://127.0.0.1:8790"), content=body)
        assert answer.status_code == 200, answer.text
        answers.append(answer.json())
    checked, called = answers
    assert checked["ok"] is True
    assert checked["sha256"] == json.loads(lines[1][-1])["sha256"]
    assert called["text"] == "Hello Ada"
