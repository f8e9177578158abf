"""Cases sent to the runner as calls of one tool.

A child that dies or hangs is replaced, and the next begins behind its last case.
"""

import json
import re
import secrets
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.call_plan import Case
from fuzz.canaries import Canaries
from fuzz.inside import system_calls
from support.live_runner import invocation
from toolrack_runner.child.jail.linux import SYSCALLS
from toolrack_runner.errors import ERROR_CODES

SOURCE = Path(system_calls.__file__).read_text()
#: Above what a batch takes. A child that hangs ends itself before; one that has stopped itself (SIGSTOP) is ended by this.
DEADLINE_MS, REPEATING_DEADLINE_MS = 2_000, 15_000
#: What the observer's locks begin at, which no child is told in this form.
LOCK_START = 0x5EC2_E7AB_1E55


@dataclass
class Tried:
    """What came of one batch."""

    #: Of each case what its calls gave: results and errnos, and the secrets that were seen. None: the child ended in it.
    said: dict[int, str | None] = field(default_factory=dict)
    children: int = 0
    #: Whatever the runner answered that is no answer of a tool's.
    wrong: list[str] = field(default_factory=list)


def try_batch(world: Canaries, cases: list[Case]) -> Tried:
    """Runs them all, in as few children as it takes."""
    tried = Tried()
    rest = list(enumerate(cases))
    while rest:
        mark = secrets.token_hex(4) + "-"
        log = _run(world, rest, mark, tried)
        begun = [(int(number), said) for number, said in re.findall(rf"{mark}(\d+)=([^\n]*)", log)]
        last = max((number for number, _ in begun), default=rest[0][0])
        tried.said.update({number: said or None for number, said in begun})
        tried.said.setdefault(last, None)
        rest = [(number, case) for number, case in rest if number > last]
    return tried


def _run(world: Canaries, cases: list[tuple[int, Case]], mark: str, tried: Tried) -> str:
    # What is secret to the child crosses as a number, so that its eight bytes are nowhere in its messages.
    aim = world.aim() | {"numbers": dict(SYSCALLS), "secrets": {"lock": LOCK_START}}
    batch = json.dumps({"cases": cases, "mark": mark, "aim": aim})
    body = invocation(
        SOURCE,
        "fuzz:run",
        {"batch": batch},
        tenant="fuzz",
        deadlineMs=REPEATING_DEADLINE_MS
        if any(case.keys() & {"times", "threads"} for _, case in cases)
        else DEADLINE_MS,
        network=[f"localhost:{world.peer_port}"],
    )
    answer = world.live.client.post("/invoke", json=body)
    tried.children += 1
    if answer.status_code != 200:
        tried.wrong.append(f"the runner answered {answer.status_code}: {answer.text[:300]}")
        return ""
    outcome: dict[str, Any] = answer.json()
    if (wrong := no_outcome(outcome)) is not None:
        tried.wrong.append(wrong)
    log: str = outcome["log"]["text"]
    return log


def no_outcome(outcome: dict[str, Any]) -> str | None:
    """What is wrong with a runner's answer to a call; None where it is a result, or a failure of a tool's own."""
    code = outcome.get("code")
    if code is None:
        return None if "value" in outcome or "text" in outcome else f"no outcome: {outcome}"
    if code not in ERROR_CODES or code == "WORKER_DIED":
        return f"{code}: {outcome.get('error')}"
    return None
