"""`POST /invoke`: one call, in a process of its own."""

from typing import Any, Protocol

import orjson
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response

from toolrack_runner.http.fault import Fault
from toolrack_runner.http.invoke_body import Invocation, parse_invocation
from toolrack_runner.http.read_body import read_body
from toolrack_runner.http.runner import Runner, busy
from toolrack_runner.http.unless_gone import unless_gone
from toolrack_runner.pool.call import Call, run_call
from toolrack_runner.pool.children import PoolFailure
from toolrack_runner.pool.fair_queue import QueueFull
from toolrack_runner.pool.key import Key
from toolrack_runner.pool.outcome import Outcome, Usage, failure
from toolrack_runner.pool.sources import is_digest_of


async def invoke(request: Request) -> Response:
    """Answers 200 with an outcome wherever something ran, whatever came of it."""
    runner: Runner = request.app.state.runner
    invocation = parse_invocation(await read_body(request))
    source = _source(runner, invocation)
    level = await runner.require_level(invocation.min_isolation)
    if invocation.spec_fault is not None:
        sentence = (
            f"the spec of {invocation.tool} can't be used, and nothing was run: "
            f"{invocation.spec_fault}, and upload the module again."
        )
        return Response(_answer(failure("MODULE_BROKEN", sentence), level), media_type="application/json")
    pool = runner.require_pool()
    key = Key(invocation.tenant, invocation.module, invocation.sha256, invocation.limits, invocation.network)
    call = Call(
        key=key,
        source=source,
        tool=invocation.tool,
        arguments=invocation.arguments,
        context=invocation.context,
        deadline_seconds=invocation.deadline_seconds,
    )

    async def run() -> Outcome:
        async with runner.calls.place(key.tenant):
            # Not before: what is refused must not push out others' sources.
            runner.sources.keep(key.tenant, key.sha256, source)
            outcome = await run_call(pool, call)
            runner.pause_for_main(runner.calls, key.tenant, outcome.usage.main_seconds)
            return outcome

    try:
        outcome = await unless_gone(request, run())
    except QueueFull as full:
        raise busy(full, "calls") from None
    except PoolFailure as lost:
        raise Fault("RUNNER_UNAVAILABLE", f"{lost}", retry_after_seconds=1) from None
    # When the answer is on its way: what comes next must not slow it down.
    behind = BackgroundTask(pool.refill, key)
    return Response(_answer(outcome, level), media_type="application/json", background=behind)


def _source(runner: Runner, invocation: Invocation) -> str:
    if invocation.source is not None:
        if not is_digest_of(invocation.source, invocation.sha256):
            raise Fault("BODY_INVALID", "sha256 is not the digest of source")
        return invocation.source
    source = runner.sources.find(invocation.sha256)
    if source is None:
        raise Fault(
            "MODULE_UNKNOWN", "this instance has no source of that digest: repeat the request with source"
        )
    return source


def _answer(outcome: Outcome, level: str) -> bytes:
    answer: dict[str, Any] = {"outcome": "failure" if outcome.code else "success"}
    if outcome.code:
        answer |= {"code": outcome.code, "error": outcome.error}
    elif outcome.value is not None:
        answer["value"] = orjson.Fragment(outcome.value)
    else:
        answer["text"] = outcome.text
    return orjson.dumps(answer | log_and_usage(outcome) | {"isolation": level})


class Watched(Protocol):
    """What ran in a child, as main saw it."""

    @property
    def log(self) -> str: ...
    @property
    def log_is_truncated(self) -> bool: ...
    @property
    def usage(self) -> Usage: ...


def log_and_usage(watched: Watched) -> dict[str, Any]:
    """What was printed, and what it cost."""
    usage = watched.usage
    return {
        "log": {"text": watched.log, "truncated": watched.log_is_truncated},
        "usage": {
            "wallMs": round(usage.wall_ms, 3),
            "cpuMs": round(usage.cpu_ms, 3),
            "maxRssBytes": usage.resident_bytes_max,
        },
    }
