"""`POST /check`: what a module holds, found out without running it, then by importing it in the jail."""

import hashlib

import orjson
from starlette.requests import Request
from starlette.responses import Response

from toolrack_runner.http.fault import Fault
from toolrack_runner.http.fields import refuse_unknown, text, whole_number
from toolrack_runner.http.invoke import log_and_usage
from toolrack_runner.http.read_body import read_body
from toolrack_runner.http.runner import Runner
from toolrack_runner.http.unless_gone import unless_gone
from toolrack_runner.pool.admission import QueueFull
from toolrack_runner.pool.pool import PoolFailure

FIELDS = frozenset({"name", "source", "deadlineMs"})
#: An import, and every example after it.
DEADLINE_MS = 20_000
#: Above what a module may have, so that the report itself can say that it is too large.
SOURCE_CHARACTERS_MAX = 2 << 20


async def check(request: Request) -> Response:
    """Answers 200 with a report whatever is wrong with the module."""
    # The libraries of a check cost a start more than all the rest together.
    from toolrack_runner.pool.check import Checked, run_check

    runner: Runner = request.app.state.runner
    body = await read_body(request)
    refuse_unknown(body, FIELDS)
    name = text(body, "name", characters_max=128)
    source = body.get("source")
    if not isinstance(source, str):
        raise Fault("BODY_INVALID", "source must be a string")
    deadline_ms = whole_number(body, "deadlineMs", lowest=1, highest=120_000, default=DEADLINE_MS)
    level = await runner.require_level(None)
    pool = runner.require_pool()

    async def run() -> Checked:
        async with runner.admission.slot():
            return await run_check(pool, name, source, seconds=deadline_ms / 1000)

    try:
        checked = await unless_gone(request, run())
    except QueueFull:
        raise runner.busy() from None
    except PoolFailure as failure:
        raise Fault("RUNNER_UNAVAILABLE", f"{failure}", retry_after_seconds=1) from None
    report = {key: value for key, value in checked.report.items() if key not in ("stage", "specLines")}
    digest = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()
    answer = report | {"sha256": digest} | log_and_usage(checked) | {"isolation": level}
    return Response(orjson.dumps(answer), media_type="application/json")
