"""`POST /invoke` runs one call in a process of its own. `POST /forget` ends the children that wait for a module's calls."""

import logging
import re
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import orjson
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from toolrack_runner.hosts import Host, is_address, read_host, why_no_address
from toolrack_runner.limits import HOSTS_MAX
from toolrack_runner.server.http.body import Body, read_body
from toolrack_runner.server.http.event_stream import NDJSON, EventStream
from toolrack_runner.server.http.http_error import HttpError, answer_error
from toolrack_runner.server.http.locks import environment_in, environment_of_call, lock_in
from toolrack_runner.server.http.runner import Runner
from toolrack_runner.server.http.sources import called_source
from toolrack_runner.server.pool.call import Call, run_call
from toolrack_runner.server.pool.call_events import CallEvents
from toolrack_runner.server.pool.outcome import CallOutcome, Observed
from toolrack_runner.server.pool.warm_queue import Key
from toolrack_runner.server.settings import LEVELS
from toolrack_runner.wire.child_messages import SourceText
from toolrack_runner.wire.frames import JsonObject, JsonValue
from toolrack_runner.wire.zygote_messages import Limits

if TYPE_CHECKING:
    from toolrack_runner.server.packages.environment import Environment
    from toolrack_runner.server.packages.lock import Lock

#: The deadline of a call in milliseconds, if the request does not say it. The service has the same default.
DEADLINE_MS = 30_000
#: The longest deadline, in milliseconds: a definition may ask for one hour.
DEADLINE_MS_MAX = 3_600_000

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}", re.ASCII)

_log = logging.getLogger("toolrack_runner")


class _InvokeBody(NamedTuple):
    call: Call
    source: SourceText | None
    min_isolation: str | None
    #: Why the tool's spec cannot be used, or None. Earlier versions have stored specs that are no longer accepted.
    spec_fault: str | None
    #: Whether the caller wants each value of a generator as an event.
    with_values: bool
    #: The lock of the environment, for the case that this instance does not have it.
    lock: "Lock | None"


class Invoke:
    """The route as an ASGI app, because events are sent before the outcome of a call is known."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        stream = EventStream(send)
        request = Request(scope, receive)
        try:
            response = await invoke(request, stream)
        except Exception as error:
            if not stream.has_begun:
                raise
            # If the stream ends without an outcome, the caller knows that something has failed.
            stream.stop()
            await answer_error(request, error)
            return
        await (stream.end(response) if stream.has_begun else response(scope, receive, send))


async def invoke(request: Request, stream: EventStream) -> Response:
    """Runs a call. Answers 200 with its outcome, even if the tool has failed.

    If the caller wants events, `stream` gets them.
    """
    runner: Runner = request.app.state.runner
    body = await _read(request)
    call, source = body.call, body.source
    started = time.monotonic()
    request.state.log_fields = call.log_fields
    key = call.key
    if source is None:
        source = runner.sources.find(key.sha256)
        if source is None:
            sentence = "this instance has no source with this sha256: repeat the request with source or files"
            raise HttpError("MODULE_UNKNOWN", sentence)
    level = await runner.require_level(body.min_isolation)
    if body.spec_fault is not None:
        fault = body.spec_fault
        sentence = f"the spec of {call.tool} can't be used, and nothing was run: {fault}, and upload the module again."
        outcome = CallOutcome(code="MODULE_BROKEN", error=sentence)
        return Response(_answer(outcome, level), media_type="application/json")
    pool = runner.require_pool()
    events = None
    if NDJSON in request.headers.get("accept", ""):
        events = stream.events = CallEvents(stream.wake, with_values=body.with_values)
    async with runner.place(request, runner.calls, key.tenant, "calls"):
        # The source is stored only when the call may run. A call that is refused because too many wait must not push out
        # sources of other users.
        runner.sources.keep(key.tenant, key.sha256, source)
        if key.environment:
            seconds = call.deadline_seconds - (time.monotonic() - started)
            async with environment_of_call(
                runner.packages, key.environment, body.lock, seconds, key.tenant
            ) as found:
                outcome = await run_call(pool, _in_environment(call, found, started), source, events)
        else:
            outcome = await run_call(pool, call, source, events)
        runner.pause_for_server_time(runner.calls, key.tenant, outcome.observed.server_seconds)
    if outcome.code == "WORKER_DIED":
        extra = call.log_fields | {"reason": outcome.error}
        _log.warning("the worker of a call was lost", extra=extra)
    # This task makes new children only after the answer is sent, so that it does not delay the answer.
    refill = BackgroundTask(pool.refill, key)
    return Response(_answer(outcome, level), media_type="application/json", background=refill)


def _in_environment(call: Call, environment: "Environment", started: float) -> Call:
    """The call in its environment. Its deadline counts from `started`, before the environment was found or built."""
    left = call.deadline_seconds - (time.monotonic() - started)
    return replace(call, environment=environment, deadline_seconds=max(left, 0.001))


async def forget(request: Request) -> Response:
    """Ends waiting children. Answers 204, even if none has waited. Running calls go on, and later calls work as usual."""
    runner: Runner = request.app.state.runner
    body = await read_body(request, "tenant", "module", "sha256")
    module, sha256 = body.text("module", characters_max=128), body.digest("sha256")
    tenant = body.tenant()
    if runner.pool is not None:
        runner.pool.forget(module, sha256, tenant)
    return Response(status_code=204)


async def _read(request: Request) -> _InvokeBody:
    """The body of a request to `/invoke`; raises HttpError."""
    body = await read_body(
        request,
        *("module", "sha256", "tool", "source", "files", "arguments", "context", "deadlineMs"),
        *("limits", "network", "tenant", "invocationId", "traceparent", "stream", "environment", "lock"),
    )
    sha256 = body.digest("sha256")
    limits, min_isolation = _limits(body.an_object("limits", default={}))
    hosts, spec_fault = _network(body.get("network", []))
    lock = lock_in(body)
    environment = environment_in(body, lock)
    call = Call(
        key=Key(
            tenant=body.text("tenant", characters_max=256),
            module=body.text("module", characters_max=128),
            sha256=sha256,
            limits=limits,
            network=hosts,
            environment=environment,
        ),
        tool=body.text("tool", characters_max=128),
        arguments=body.an_object("arguments"),
        context=body.an_object("context", default={}),
        deadline_seconds=body.whole_number("deadlineMs", 1, DEADLINE_MS_MAX, default=DEADLINE_MS) / 1000,
        invocation_id=body.text("invocationId", characters_max=128),
        traceparent=_traceparent(body.optional_text("traceparent")),
    )
    source = called_source(body, call.key.module, sha256)
    return _InvokeBody(
        call,
        source,
        min_isolation,
        spec_fault,
        body.boolean("stream", default=False),
        lock,
    )


def _traceparent(text: str | None) -> str | None:
    """Returns the text if it is None or has the shape of a W3C `traceparent`. Otherwise raises HttpError."""
    if text is not None and not _TRACEPARENT.fullmatch(text):
        raise HttpError(
            "BODY_INVALID", "traceparent must be 2, 32, 16 and 2 hex digits with a - between them"
        )
    return text


def _network(value: JsonValue) -> tuple[tuple[Host, ...], str | None]:
    """The hosts, and None. If a numeric address is among them, no hosts, and a `spec_fault` for it."""
    if not isinstance(value, list) or len(value) > HOSTS_MAX:
        raise HttpError("BODY_INVALID", f"network must be a list of at most {HOSTS_MAX} hosts")
    texts = [text for text in value if isinstance(text, str)]
    spec_fault = next((why_no_address(at) for at, text in enumerate(texts) if is_address(text)), None)
    hosts = tuple(host for text in texts if (host := read_host(text)) is not None)
    if len(texts) < len(value) or (spec_fault is None and len(hosts) < len(value)):
        sentence = "network must name hosts, as api.example.com or api.example.com:8443"
        raise HttpError("BODY_INVALID", sentence)
    return (hosts if spec_fault is None else ()), spec_fault


def _limits(given: JsonObject) -> tuple[Limits, str | None]:
    """The limits of the call, and the lowest level of isolation that it accepts."""
    names = ("memoryBytes", "cpuSeconds", "outputBytes", "fileBytes", "minIsolation")
    body = Body(given, *names, where="limits: ")
    level = body.optional_text("minIsolation")
    if level is not None and level not in LEVELS:
        raise HttpError("BODY_INVALID", f"limits.minIsolation must be one of {', '.join(LEVELS)}")
    usual = Limits()
    limits = Limits(
        memory_bytes=body.whole_number("memoryBytes", 1 << 20, 4 << 30, default=usual.memory_bytes),
        cpu_seconds=body.whole_number("cpuSeconds", 1, 3600, default=usual.cpu_seconds),
        output_bytes=body.whole_number("outputBytes", 1, usual.output_bytes, default=usual.output_bytes),
        file_bytes=body.whole_number("fileBytes", 0, 1 << 30, default=usual.file_bytes),
    )
    return limits, level


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
