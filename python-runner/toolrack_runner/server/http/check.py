"""`POST /check`: reports what a module contains. The module is read, and then imported in the jail."""

from typing import TYPE_CHECKING, NamedTuple

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from toolrack_runner.server.http.body import Body, read_body
from toolrack_runner.server.http.http_error import answer_error
from toolrack_runner.server.http.http_events import NDJSON
from toolrack_runner.server.http.invoke import common_fields
from toolrack_runner.server.http.locks import lock_in, packages_unavailable
from toolrack_runner.server.http.progress_stream import ProgressStream
from toolrack_runner.server.http.runner import Runner
from toolrack_runner.server.http.sources import SOURCE_FIELDS, checked_source, source_digest
from toolrack_runner.server.http.unless_gone import unless_gone
from toolrack_runner.server.packages.refusal import PackagesRefusedError, PackagesUnavailableError
from toolrack_runner.server.pool.fair_queue import THE_SERVICE
from toolrack_runner.server.pool.outcome import Observed
from toolrack_runner.wire.fault import ModuleError
from toolrack_runner.wire.report import CheckReport

if TYPE_CHECKING:
    from toolrack_runner.server.packages.environment import Environment
    from toolrack_runner.server.packages.lock import Lock
    from toolrack_runner.server.packages.progress import Listener
    from toolrack_runner.server.pool.pool import Pool

#: How many milliseconds the import and all examples may take together, if the request does not say it. Packages have a
#: time of their own before that.
DEADLINE_MS = 20_000
#: If a check ran out of time, its user must pause for as long as the check took, but at most for this many seconds.
PAUSE_SECONDS_MAX = 30.0


class _CheckBody(NamedTuple):
    name: str
    source: bytes | dict[str, bytes]
    deadline_seconds: float
    tenant: str
    #: The lock that the service has kept for these bytes.
    lock: "Lock | None"


class _Checked(NamedTuple):
    report: CheckReport
    observed: Observed
    lock: "Lock | None" = None


class Check:
    """The route as an ASGI app, because events are sent while packages are installed."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if NDJSON not in request.headers.get("accept", ""):
            await (await check(request, None))(scope, receive, send)
            return
        stream = ProgressStream(send)
        try:
            response = await check(request, stream.tell)
        except Exception as error:
            if not stream.has_begun:
                raise
            await stream.end("error", await answer_error(request, error))
            return
        await stream.end("report", response)


async def check(request: Request, listener: "Listener | None") -> Response:
    """Checks a module. Answers 200 with a report, even if the module has faults."""
    runner: Runner = request.app.state.runner
    body = _read(await read_body(request, "name", *SOURCE_FIELDS, "deadlineMs", "tenant", "lock"))
    level = await runner.require_level(None)
    pool = runner.require_pool()
    async with unless_gone(request), runner.place(runner.checks, body.tenant, "module checks"):
        checked = await _check(runner, pool, body, listener)
        runner.pause_for_server_time(runner.checks, body.tenant, checked.observed.server_seconds)
    answer = {key: value for key, value in checked.report.items() if key != "stage"}
    if checked.lock is not None:
        answer["packages"] = checked.lock.as_json()
    answer |= {"sha256": source_digest(body.source)} | common_fields(checked.observed, level)
    return Response(orjson.dumps(answer), media_type="application/json")


def _read(body: Body) -> _CheckBody:
    return _CheckBody(
        name=body.text("name", characters_max=128),
        source=checked_source(body),
        deadline_seconds=body.whole_number("deadlineMs", 1, 120_000, default=DEADLINE_MS) / 1000,
        tenant=body.tenant() or THE_SERVICE,
        lock=lock_in(body),
    )


async def _check(runner: Runner, pool: "Pool", body: _CheckBody, listener: "Listener | None") -> _Checked:
    """Reads the head of the module, gets its packages, and checks it in the jail with them."""
    # These are imported only here, because the libraries that they need take longer to import than all others together.
    from toolrack_runner.server.packages.head import read_head
    from toolrack_runner.server.pool.check_report import refused_report

    try:
        head = read_head(body.name, body.source)
        if head is None or not head.requirements:
            return await _check_with(runner, pool, body, None)
        try:
            had = await runner.packages.for_module(head, body.lock, listener, user=body.tenant)
        except PackagesRefusedError as refused:
            raise head.error(refused.kind, f"{refused}") from None
        except PackagesUnavailableError as error:
            raise packages_unavailable(f"{error}") from None
    except ModuleError as error:
        return _Checked(refused_report(None, body.name, error.fault), Observed())
    if listener is not None:
        listener("checking the module")
    with runner.packages.environments.use(had.lock.digest):
        checked = await _check_with(runner, pool, body, had.environment)
    notes = [*checked.report["notes"], *head.notes(had.environment)]
    return checked._replace(report=checked.report | {"notes": notes}, lock=had.lock)


async def _check_with(
    runner: Runner, pool: "Pool", body: _CheckBody, environment: "Environment | None"
) -> _Checked:
    from toolrack_runner.server.pool.check import run_check

    seconds = body.deadline_seconds
    checked = await run_check(
        pool, body.name, body.source, tenant=body.tenant, seconds=seconds, environment=environment
    )
    # The pause must start before this check ends and another one may start. Otherwise the user's next check would start at
    # once.
    if checked.ran_out_of_time and not runner.settings.is_for_one_user:
        runner.checks.pause(body.tenant, min(checked.observed.wall_ms / 1000, PAUSE_SECONDS_MAX))
    return _Checked(checked.report, checked.observed)
