"""`POST /check`: what a module holds, found out without running it, then by importing it in the jail."""

import base64
import hashlib

import orjson
from starlette.requests import Request
from starlette.responses import Response

from toolrack_runner.http.fault import Fault
from toolrack_runner.http.fields import Body, refuse_unknown, text, whole_number
from toolrack_runner.http.invoke import log_and_usage
from toolrack_runner.http.read_body import read_body
from toolrack_runner.http.runner import Runner, busy
from toolrack_runner.http.unless_gone import unless_gone
from toolrack_runner.pool.children import PoolFailure
from toolrack_runner.pool.fair_queue import THE_SERVICE, QueueFull

FIELDS = frozenset({"name", "source", "sourceBase64", "deadlineMs", "tenant"})
#: An import, and every example after it.
DEADLINE_MS = 20_000
#: Above what a module may have, so that the report itself can say that it is too large.
SOURCE_CHARACTERS_MAX = 2 << 20
#: A user whose check has run out of time has none begun for as long as it took, and for so long at most.
PAUSE_SECONDS_MAX = 30.0


async def check(request: Request) -> Response:
    """Answers 200 with a report whatever is wrong with the module."""
    # The libraries of a check cost a start more than all the rest together.
    from toolrack_runner.pool.check import Checked, run_check

    runner: Runner = request.app.state.runner
    body = await read_body(request)
    refuse_unknown(body, FIELDS)
    name = text(body, "name", characters_max=128)
    source = _source(body)
    deadline_ms = whole_number(body, "deadlineMs", lowest=1, highest=120_000, default=DEADLINE_MS)
    tenant = THE_SERVICE if body.get("tenant") is None else text(body, "tenant", characters_max=256)
    level = await runner.require_level(None)
    pool = runner.require_pool()

    async def run() -> Checked:
        async with runner.checks.place(tenant):
            checked = await run_check(pool, name, source, tenant=tenant, seconds=deadline_ms / 1000)
            # While it still has its place: the user's next check would start in it.
            if checked.ran_out_of_time and not runner.settings.is_for_one_user:
                runner.checks.pause(tenant, min(checked.usage.wall_ms / 1000, PAUSE_SECONDS_MAX))
            runner.pause_for_main(runner.checks, tenant, checked.usage.main_seconds)
            return checked

    try:
        checked = await unless_gone(request, run())
    except QueueFull as full:
        raise busy(full, "module checks") from None
    except PoolFailure as failure:
        raise Fault("RUNNER_UNAVAILABLE", f"{failure}", retry_after_seconds=1) from None
    report = {key: value for key, value in checked.report.items() if key != "stage"}
    answer = (
        report
        | {"sha256": hashlib.sha256(source).hexdigest()}
        | log_and_usage(checked)
        | {"isolation": level}
    )
    return Response(orjson.dumps(answer), media_type="application/json")


def _source(body: Body) -> bytes:
    """The bytes of the file. JSON has no form for those that are not UTF-8; the report says what is wrong with them."""
    source, encoded = body.get("source"), body.get("sourceBase64")
    if isinstance(source, str) and encoded is None:
        return source.encode()
    if isinstance(encoded, str) and source is None:
        try:
            return base64.b64decode(encoded, validate=True)
        except ValueError:
            pass
    raise Fault("BODY_INVALID", "the body must have source, a string, or sourceBase64, the file in base64")
