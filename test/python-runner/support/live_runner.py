"""A runner in its own process, as users start it, called over HTTP."""

import hashlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import httpx

from support.until import until

ROOT = Path(__file__).parents[3] / "python-runner"
#: The user that nothing belongs to, on any Linux.
NOBODY = 65534


class ReusingClient(httpx.Client):
    """Lets one process serve several calls, whatever tool they are of."""

    def post(self, url: Any, **more: Any) -> httpx.Response:
        """Like that of httpx."""
        if url == "/invoke" and isinstance(body := more.get("json"), dict):
            more["json"] = {"reuse": 100} | body
        return super().post(url, **more)


@dataclass
class LiveRunner:
    """A running one."""

    process: "subprocess.Popen[bytes]"
    url: str
    secret: str
    client: httpx.Client
    #: The path of the socket for frames.
    socket: str

    def check(self, name: str, source: str, **more: Any) -> dict[str, Any]:
        """The report on a module."""
        answer = self.client.post("/check", json={"name": name, "source": source} | more)
        assert answer.status_code == 200, answer.text
        report: dict[str, Any] = answer.json()
        return report

    def invoke(
        self, source: str, tool: str, arguments: dict[str, Any] | None = None, **more: Any
    ) -> dict[str, Any]:
        """What a call answers; its source goes along."""
        answer = self.client.post("/invoke", json=invocation(source, tool, arguments, **more))
        assert answer.status_code == 200, answer.text
        outcome: dict[str, Any] = answer.json()
        return outcome

    def is_idle(self) -> bool:
        """Whether no call and no check runs or waits."""
        health = self.health()
        return not any(
            health[kind][state] for kind in ("calls", "checks") for state in ("running", "waiting")
        )

    def health(self) -> dict[str, Any]:
        """All of `/health`, once the level is measured."""
        answers: list[dict[str, Any]] = []

        def is_measured() -> bool:
            answers.append(self.client.get("/health").json())
            return bool(answers[-1]["status"] != "starting")

        until(is_measured, "the level")
        return answers[-1]


def invocation(
    source: str, tool: str, arguments: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """A body of `/invoke`."""
    return {
        "module": tool.partition(":")[0],
        "sha256": hashlib.sha256(source.encode()).hexdigest(),
        "tool": tool,
        "arguments": arguments or {},
        "tenant": "test",
        "invocationId": secrets.token_hex(8),
        # Far above what any tool here takes, on a machine that does much else.
        "deadlineMs": 30_000,
        "source": source,
    } | more


@contextmanager
def live_runner(
    *arguments: str,
    environment: dict[str, str] | None = None,
    as_nobody: bool = False,
    root: Path | None = None,
    log: IO[bytes] | None = None,
    reuse: bool = False,
) -> Iterator[LiveRunner]:
    """Starts one and ends it by closing its standard input, as a parent's death does. `log` gets its log.

    With `reuse`, calls that its client makes are as for a tool whose spec has `reuse`.
    """
    secret = secrets.token_urlsafe(24)
    given = nullcontext((root, str(root / ".venv/bin/python"))) if root else readable_root(as_nobody)
    with given as (own, python):
        process = subprocess.Popen(
            [python, "-I", str(own), "--parent=stdin", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"} | (environment or {}),
            user=NOBODY if as_nobody else None,
            group=NOBODY if as_nobody else None,
            extra_groups=[] if as_nobody else None,
        )
        assert process.stdin
        assert process.stdout
        try:
            process.stdin.write(secret.encode() + b"\n")
            process.stdin.flush()
            line = json.loads(process.stdout.readline())
            url = line["listening"]
            headers = {"Authorization": f"Bearer {secret}"}
            # Longer than any call lasts. What an attack without its layers leaves is cleared away slowly on a busy machine.
            kind = ReusingClient if reuse else httpx.Client
            with kind(base_url=url, headers=headers, timeout=180) as client:
                yield LiveRunner(process, url, secret, client, line.get("socket", ""))
        finally:
            process.stdin.close()
            process.stdout.close()
            process.wait(60)


@contextmanager
def readable_root(must_be: bool) -> Iterator[tuple[Path, str]]:
    """The runner's folder and its interpreter. They are copied if other users cannot enter the folder of the checkout."""
    if not must_be:
        yield ROOT, sys.executable
        return
    base = os.path.realpath(sys.executable)
    assert others_can_read(Path(base)), (
        f"{base} lies where only its owner can enter: no other user can start it"
    )
    if others_can_read(ROOT) and others_can_read(Path(sys.executable)):
        yield ROOT, sys.executable
        return
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        copy = Path(folder) / "python-runner"
        shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        yield copy, str(copy / ".venv/bin/python")


def others_can_read(path: Path) -> bool:
    """Whether a user that owns nothing reaches it."""
    return all(folder.stat().st_mode & 0o001 for folder in Path(os.path.abspath(path)).parents)
