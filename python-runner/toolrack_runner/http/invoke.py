"""`POST /invoke` runs one call in its own process. `POST /forget` ends the children that wait for calls of a module."""

import hashlib
import logging

import orjson
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response

from toolrack_runner.http.body import read_body
from toolrack_runner.http.http_error import HttpError
from toolrack_runner.http.invoke_body import read_invoke_body
from toolrack_runner.http.runner import Runner
from toolrack_runner.http.unless_gone import unless_gone
from toolrack_runner.pool.call import run_call
from toolrack_runner.pool.outcome import CallOutcome, Observed, failure

_log = logging.getLogger("toolrack_runner")


async def invoke(request: Request) -> Response:
    """Answers 200 with the outcome, even if the tool failed."""
    runner: Runner = request.app.state.runner
    call, source, min_isolation, spec_fault = await read_invoke_body(request)
    request.state.invocation_id = call.invocation_id
    key = call.key
    if source is None:
        source = runner.sources.find(key.sha256)
        if source is None:
            raise HttpError(
                "MODULE_UNKNOWN",
                "this instance has no source with this sha256: repeat the request with source",
            )
    elif hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest() != key.sha256:
        raise HttpError("BODY_INVALID", "sha256 is not the digest of source")
    level = await runner.require_level(min_isolation)
    if spec_fault is not None:
        sentence = f"the spec of {call.tool} can't be used, and nothing was run: {spec_fault}, and upload the module again."
        return Response(_answer(failure("MODULE_BROKEN", sentence), level), media_type="application/json")
    pool = runner.require_pool()
    async with unless_gone(request), runner.place(runner.calls, key.tenant, "calls"):
        # Only with a place: a call that gets no place must not push out sources of other users.
        runner.sources.keep(key.tenant, key.sha256, source)
        outcome = await run_call(pool, call, source)
        runner.pause_for_main(runner.calls, key.tenant, outcome.observed.main_seconds)
    if outcome.code == "WORKER_DIED":
        extra = {"invocationId": call.invocation_id, "reason": outcome.error}
        _log.warning("the worker of a call was lost", extra=extra)
    # The task runs after the answer is sent, so that it does not delay the answer.
    refill = BackgroundTask(pool.refill, key)
    return Response(_answer(outcome, level), media_type="application/json", background=refill)


async def forget(request: Request) -> Response:
    """Answers 204, even if no child waited. Running calls go on, and later calls work as usual."""
    runner: Runner = request.app.state.runner
    body = await read_body(request, "tenant", "module", "sha256")
    module, sha256 = body.text("module", characters_max=128), body.digest("sha256")
    tenant = body.tenant()
    if runner.pool is not None:
        runner.pool.forget(module, sha256, tenant)
    return Response(status_code=204)


def _answer(outcome: CallOutcome, level: str) -> bytes:
    answer: dict[str, object] = {"outcome": "failure" if outcome.code else "success"}
    if outcome.code:
        answer |= {"code": outcome.code, "error": outcome.error}
    elif outcome.value is not None:
        answer["value"] = orjson.Fragment(outcome.value)
    else:
        answer["text"] = outcome.text
    return orjson.dumps(answer | common_fields(outcome.observed, level))


def common_fields(observed: Observed, level: str) -> dict[str, object]:
    """The last fields of the answers to `/invoke` and `/check`."""
    return {
        "log": {"text": observed.log, "truncated": observed.log_is_truncated},
        "usage": {
            "wallMs": round(observed.wall_ms, 3),
            "cpuMs": round(observed.cpu_ms, 3),
            "maxRssBytes": observed.resident_bytes_max,
        },
        "isolation": level,
    }
