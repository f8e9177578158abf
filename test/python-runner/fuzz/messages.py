"""`npm run fuzz -- messages`: what a real child may write to its channel, at every moment of its life."""

import argparse
import base64
import json
import os
import secrets
import socket
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import httpx

from fuzz.batch import no_outcome
from fuzz.command import Budget, Finding, Report, run_program
from fuzz.forged import forged
from fuzz.inside import messages as inside
from fuzz.known_messages import KNOWN_OPEN, PAST_FINDINGS
from fuzz.lasting import lasting_zygotes
from fuzz.users import users
from hostile.resident import resident_bytes
from hostile.watched_runner import standard_error_in
from support.live_runner import LiveRunner, invocation, live_runner
from support.process_tree import children_of, zygotes_of
from support.until import SECONDS

KIND = "messages"
SOURCE = Path(inside.__file__).read_text()
#: When in its life the child writes: in a call, and in a check.
CALL_MOMENTS = (
    *("importing", "known", "ready", "waiting", "called"),
    *("connecting", "connected", "answering", "answered"),
)
CHECK_MOMENTS = ("importing", "called", "loaded", "answered")
#: A frame that is never whole keeps main waiting until then.
DEADLINE_MS, CHECK_DEADLINE_MS = 250, 1_000
#: What main may hold beyond what it held after its first calls: its largest message as objects, and what an allocator keeps.
GROWTH_BYTES_MAX = 128 << 20
#: How many cases lie between two looks at what is left.
INSPECT_EVERY = 50
#: Requests of the suite itself, and of the calls that are being put away.
DESCRIPTORS_SLACK = 16
#: How many children write at once.
TOGETHER = 4
NOT_HONEST = "an honest call beside it was answered"
HONEST = """
def echo(token: str) -> str:
    return token
TOOL_SPECS = [{"name": "honest:echo", "description": "Says it again.", "handler": echo}]
"""
Case = dict[str, Any]


class Run:
    """One run against one runner."""

    def __init__(self, live: LiveRunner, log: Path, port: int, report: Report) -> None:
        self._live = live
        self._port = port
        self._log = log
        self._report = report
        self._threads = ThreadPoolExecutor(TOGETHER + 1)
        self._pid = live.process.pid
        for _ in range(3):
            assert self._honest("first")["text"] == "first"
            self._try({"moment": "check called", "writes": []})
            self._try({"moment": "called", "writes": []})
        self._zygotes = lasting_zygotes(self._pid)
        self._descriptors = self._descriptors_now()
        self._resident = resident_bytes(self._pid)
        self._logged = log.read_text()

    def together(self, cases: list[Case]) -> None:
        """Tries some at once, with an honest call beside them."""
        token = secrets.token_hex(8)
        honest = self._threads.submit(self._honest, token)
        tried = list(self._threads.map(lambda case: self._try(case, token), cases))
        for case, wrong in zip(cases, tried, strict=True):
            self._add(wrong, case)
        shared = (
            [] if (answer := honest.result()).get("text") == token else [("others", f"{NOT_HONEST} {answer}")]
        )
        shared += [("runner", text) for text in self._runner_findings()]
        if len(cases) == 1:
            self._add(shared, cases[0])
        elif shared:
            before = len(self._report.findings)
            for case in cases:
                self.together([case])
            if len(self._report.findings) == before:
                self._add(shared, {"moment": "some together", "cases": cases})
        if (self._report.tried + len(cases)) // INSPECT_EVERY > self._report.tried // INSPECT_EVERY:
            self.inspect_the_rest(cases[-1])
        self._report.tried += len(cases)

    def _runner_findings(self) -> Iterator[str]:
        if self._live.process.poll() is not None:
            yield "the runner has ended"
        elif not self._zygotes <= zygotes_of(self._pid):
            yield "a zygote has ended"
            self._zygotes = lasting_zygotes(self._pid)
        if (log := self._log.read_text()) != self._logged:
            yield f"the runner logged {log.removeprefix(self._logged)[:600]}"
            self._logged = log

    def inspect_the_rest(self, case: Case) -> None:
        """Whether what ended cases held is given back."""
        deadline = time.monotonic() + SECONDS
        while left := self._left():
            if time.monotonic() > deadline:
                self._add([("rest", left)], case)
                return
            time.sleep(0.02)

    def _left(self) -> str | None:
        health = self._live.client.get("/health").json()
        alive, calls = health["children"]["alive"], health["calls"]
        if calls["running"] or calls["waiting"]:
            return f"calls are left: {calls}"
        if (children := len(children_of(self._pid))) != alive:
            return f"{children} children live, and the runner knows of {alive}"
        if (descriptors := self._descriptors_now()) > self._descriptors + 3 * alive + DESCRIPTORS_SLACK:
            return f"the runner has {descriptors} descriptors, {self._descriptors} at first"
        if (more := resident_bytes(self._pid) - self._resident) > GROWTH_BYTES_MAX:
            return f"the runner holds {more >> 20} MB more than at first"
        return None

    def _descriptors_now(self) -> int:
        return len(os.listdir(f"/proc/{self._pid}/fd"))

    def _add(self, wrong: list[tuple[str, str]], case: Case) -> None:
        for observer, what in wrong:
            self._report.add(Finding(KIND, observer, what, case))

    def _honest(self, token: str) -> dict[str, Any]:
        return self._post("/invoke", invocation(HONEST, "honest:echo", {"token": token}, tenant="honest"))

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            answer = self._live.client.post(path, json=body)
        except httpx.HTTPError as error:
            return {"status": 0, "error": repr(error)}
        if answer.status_code != 200:
            return {"status": answer.status_code, "error": answer.text}
        value: dict[str, Any] = answer.json()
        return value

    def _try(self, case: Case, token: str = "-") -> list[tuple[str, str]]:
        """What is wrong with the answers of the runner to the child's own call or check."""
        moment = case["moment"].removeprefix("check ")
        plan = json.dumps({"moment": moment, "writes": case["writes"], "port": self._port})
        source = SOURCE.replace('json.loads("{}")', f"json.loads({plan!r})", 1)
        if case["moment"].startswith("check "):
            answers = [self._check(source)]
            wrong = [no_report(answers[0])]
        else:
            # The second comes from a child that was told of the module, and that perhaps has waited.
            times = 2 if moment in ("known", "ready", "waiting") else 1
            more: dict[str, Any] = {
                "tenant": "fuzz",
                "network": ["localhost", f"localhost:{self._port}"],
                "deadlineMs": DEADLINE_MS,
            }
            body = invocation(source, "fuzz:run", **more)
            answers = [self._post("/invoke", body) for _ in range(times)]
            wrong = [answer.get("error") if "status" in answer else no_outcome(answer) for answer in answers]
        found = [
            ("answer", f"{answer.get('status', 200)}: {text}"[:600])
            for answer, text in zip(answers, wrong, strict=True)
            if text
        ]
        if token in json.dumps(answers):
            found.append(("others", "it was given another tenant's result"))
        return found

    def _check(self, source: str) -> dict[str, Any]:
        return self._post("/check", {"name": "fuzz", "source": source, "deadlineMs": CHECK_DEADLINE_MS})


def no_report(report: dict[str, Any]) -> str | None:
    """What is wrong with a runner's answer to a check; None where it is a report on this module."""
    if "status" in report:
        return str(report["error"])
    tools = report.get("tools")
    if not isinstance(report.get("ok"), bool) or not isinstance(report.get("faults"), list):
        return f"no report: {json.dumps(report)[:300]}"
    if not isinstance(tools, list) or any(not str(tool.get("name")).startswith("fuzz:") for tool in tools):
        return f"it reports tools of another module: {json.dumps(tools)[:300]}"
    if not report["ok"] and not report["faults"] and all(tool.get("accepted") for tool in tools):
        return "a check that failed names no fault"
    return None


def cases(random: Random) -> Iterator[Case]:
    """Every moment in turn, each time with other bytes."""
    moments = (*CALL_MOMENTS, *(f"check {moment}" for moment in CHECK_MOMENTS))
    while True:
        for moment in moments:
            writes = [forged(random) for _ in range(random.choice((1, 1, 1, 2, 4)))]
            # The source of a module has at most 256 KB.
            if sum(map(len, writes)) < 150_000:
                yield {"moment": moment, "writes": [base64.b64encode(each).decode() for each in writes]}


@contextmanager
def watched(*, as_nobody: bool) -> Iterator[tuple[LiveRunner, Path, int]]:
    """A runner, its log, and the port of somebody whom its tools may be connected to."""
    environment = {"TOOLRACK_RUNNER_MIN_ISOLATION": "L3", "TOOLRACK_RUNNER_NETWORK_ALLOW": "127.0.0.0/8"}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        log = Path(folder) / "log"
        peer = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=128))
        Thread(target=_serve, args=(peer,), daemon=True).start()
        with standard_error_in(log):
            live = stack.enter_context(live_runner(as_nobody=as_nobody, environment=environment))
        assert live.health()["status"] == "ok"
        yield live, log, peer.getsockname()[1]


def _serve(peer: socket.socket) -> None:
    with suppress(OSError):
        while True:
            peer.accept()[0].close()


def fuzz(seed: int, budget: Budget, *, as_nobody: bool = False, case: Case | None = None) -> Report:
    """One run."""
    report = Report(KIND, seed, KNOWN_OPEN)
    with watched(as_nobody=as_nobody) as (live, log, port):
        run = Run(live, log, port, report)
        for each in PAST_FINDINGS if case is None else [case]:
            run.together(case["cases"] if case and "cases" in case else [each])
        random = cases(Random(seed))
        while case is None and budget.is_left(report.tried) and not report.is_full:
            run.together(list(islice(random, TOGETHER)))
        run.inspect_the_rest(case or {"moment": "all of them", "writes": []})
    return report


def _run(arguments: argparse.Namespace) -> list[Report]:
    case = json.loads(arguments.case) if arguments.case else None
    seconds = arguments.seconds / len(users())
    return [fuzz(arguments.seed, Budget(seconds), as_nobody=nobody, case=case) for nobody in users()]


if __name__ == "__main__":
    run_program(KIND, _run)
