"""`POST /check`: reports what a module contains. The module is read, and then imported in the jail."""

import orjson
from starlette.requests import Request
from starlette.responses import Response

from toolrack_runner.server.http.body import read_body
from toolrack_runner.server.http.invoke import common_fields
from toolrack_runner.server.http.runner import Runner
from toolrack_runner.server.http.sources import SOURCE_FIELDS, checked_source, source_digest
from toolrack_runner.server.pool.fair_queue import THE_SERVICE

#: How many milliseconds the import and all examples may take together, if the request does not say it.
DEADLINE_MS = 20_000
#: If a check ran out of time, its user must pause for as long as the check took, but at most for this many seconds.
PAUSE_SECONDS_MAX = 30.0


async def check(request: Request) -> Response:
    """Checks a module. Answers 200 with a report, even if the module has faults."""
    # This is imported only here, because the libraries that `run_check` needs take longer to import than all others
    # together.
    from toolrack_runner.server.pool.check import run_check

    runner: Runner = request.app.state.runner
    body = await read_body(request, "name", *SOURCE_FIELDS, "deadlineMs", "tenant")
    name = body.text("name", characters_max=128)
    source = checked_source(body)
    deadline_ms = body.whole_number("deadlineMs", 1, 120_000, default=DEADLINE_MS)
    tenant = body.tenant() or THE_SERVICE
    level = await runner.require_level(None)
    pool = runner.require_pool()
    async with runner.place(request, runner.checks, tenant, "module checks"):
        checked = await run_check(pool, name, source, tenant=tenant, seconds=deadline_ms / 1000)
        # The pause must start before this check ends and another one may start. Otherwise the user's next check would start
        # at once.
        if checked.ran_out_of_time and not runner.settings.is_for_one_user:
            runner.checks.pause(tenant, min(checked.observed.wall_ms / 1000, PAUSE_SECONDS_MAX))
        runner.pause_for_server_time(runner.checks, tenant, checked.observed.server_seconds)
    answer = {key: value for key, value in checked.report.items() if key != "stage"}
    answer |= {"sha256": source_digest(source)} | common_fields(checked.observed, level)
    return Response(orjson.dumps(answer), media_type="application/json")
