"""`POST /check`: reports what a module contains, by reading it and then importing it in the jail."""

import base64
import hashlib
from contextlib import suppress

import orjson
from starlette.requests import Request
from starlette.responses import Response

from toolrack_runner.http.body import Body, read_body
from toolrack_runner.http.http_error import HttpError
from toolrack_runner.http.invoke import common_fields
from toolrack_runner.http.runner import Runner
from toolrack_runner.pool.fair_queue import THE_SERVICE

#: The default time for the import and all examples together.
DEADLINE_MS = 20_000
#: A check that ran out of time pauses its user for as long as the check took, but at most for this time.
PAUSE_SECONDS_MAX = 30.0


async def check(request: Request) -> Response:
    """Answers 200 with a report, even if the module is wrong."""
    # Not imported at the start, because the libraries of `run_check` take more time to import than all others together.
    from toolrack_runner.pool.check import run_check

    runner: Runner = request.app.state.runner
    body = await read_body(request, "name", "source", "sourceBase64", "deadlineMs", "tenant")
    name = body.text("name", characters_max=128)
    source = _source(body)
    deadline_ms = body.whole_number("deadlineMs", 1, 120_000, default=DEADLINE_MS)
    tenant = body.tenant() or THE_SERVICE
    level = await runner.require_level(None)
    pool = runner.require_pool()
    async with runner.place(request, runner.checks, tenant, "module checks"):
        checked = await run_check(pool, name, source, tenant=tenant, seconds=deadline_ms / 1000)
        # The pause must start before this check leaves its place: otherwise the user's next check would start there.
        if checked.ran_out_of_time and not runner.settings.is_for_one_user:
            runner.checks.pause(tenant, min(checked.observed.wall_ms / 1000, PAUSE_SECONDS_MAX))
        runner.pause_for_main(runner.checks, tenant, checked.observed.main_seconds)
    answer = {key: value for key, value in checked.report.items() if key != "stage"}
    answer |= {"sha256": hashlib.sha256(source).hexdigest()} | common_fields(checked.observed, level)
    return Response(orjson.dumps(answer), media_type="application/json")


def _source(body: Body) -> bytes:
    """The bytes of the file. A file that is not UTF-8 is sent in base64, so that the report can name this fault."""
    source, encoded = body.get("source"), body.get("sourceBase64")
    if isinstance(source, str) and encoded is None:
        return source.encode()
    if isinstance(encoded, str) and source is None:
        with suppress(ValueError):
            return base64.b64decode(encoded, validate=True)
    sentence = "the body must have source, a string, or sourceBase64, the file in base64"
    raise HttpError("BODY_INVALID", sentence)
