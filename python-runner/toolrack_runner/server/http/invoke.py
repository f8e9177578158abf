"""Runs a call that came as JSON, over HTTP or in a frame, in a process of its own."""

import logging
import re
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import orjson

from toolrack_runner.hosts import Host, is_address, read_host, why_no_address
from toolrack_runner.limits import HOSTS_MAX
from toolrack_runner.server.http.answer import Answer
from toolrack_runner.server.http.attached import attached_in
from toolrack_runner.server.http.body import Body, parse_body
from toolrack_runner.server.http.event_stream import EventStream
from toolrack_runner.server.http.http_error import HttpError, error_answer
from toolrack_runner.server.http.locks import environment_in, environment_of_call, lock_in
from toolrack_runner.server.http.runner import Runner
from toolrack_runner.server.http.sources import called_source
from toolrack_runner.server.pool.call import Call, run_call
from toolrack_runner.server.pool.call_events import CallEvents
from toolrack_runner.server.pool.outcome import CallOutcome, Observed
from toolrack_runner.server.pool.warm_queue import Key
from toolrack_runner.server.settings import LEVELS
from toolrack_runner.wire.child_messages import REUSE_MAX, SourceText
from toolrack_runner.wire.frames import JsonObject, JsonValue
from toolrack_runner.wire.zygote_messages import Limits

if TYPE_CHECKING:
    from toolrack_runner.server.packages.environment import Environment
    from toolrack_runner.server.packages.lock import Lock

#: The deadline of a call in milliseconds, if the request does not say it. The service has the same default.
DEADLINE_MS = 30_000
#: The longest deadline, in milliseconds: a definition may ask for one hour.
DEADLINE_MS_MAX = 3_600_000

#: The fields of a body. Any other is refused.
_FIELDS = (
    *("module", "sha256", "tool", "source", "files", "arguments", "context", "deadlineMs"),
    *("limits", "network", "tenant", "invocationId", "traceparent", "stream", "environment", "lock"),
    *("reuse", "session", "attached"),
)

#: The shortest wait in the queue that is taken from the deadline of a call.
_COUNTED_SECONDS = 0.1

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


async def invoke(runner: Runner, data: bytes, stream: EventStream | None) -> Answer:
    """Runs the call of this body. Answers with status 200 and its outcome, even if the tool has failed. Raises no error.

    If the caller wants events, `stream` gets them. If the caller leaves, the task of this function must be cancelled.
    """
    log_fields: dict[str, str] = {}
    try:
        body = _read(parse_body(data, *_FIELDS), allows_reuse=runner.settings.reuse)
        log_fields = body.call.log_fields
        return await _run(runner, body, stream)
    except Exception as error:  # noqa: BLE001 - the caller gets an answer for every error
        return error_answer(error, log_fields)


async def _run(runner: Runner, body: _InvokeBody, stream: EventStream | None) -> Answer:
    """Runs a call. Raises HttpError if nothing was run."""
    call, source = body.call, body.source
    started = time.monotonic()
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
        return Answer(_answer(CallOutcome(code="MODULE_BROKEN", error=sentence), level))
    pool = runner.require_pool()
    events = None
    if stream is not None:
        events = stream.events = CallEvents(stream.wake, with_values=body.with_values)
    queued = time.monotonic()
    async with runner.place(runner.calls, key.tenant, "calls", call.attached):
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
            outcome = await run_call(pool, _after_queue(call, queued), source, events)
        runner.pause_for_server_time(runner.calls, key.tenant, outcome.observed.server_seconds)
    if outcome.code == "WORKER_DIED":
        extra = call.log_fields | {"reason": outcome.error}
        _log.warning("the worker of a call was lost", extra=extra)
    # New children are made only after the answer is sent, so that they do not delay the answer.
    return Answer(_answer(outcome, level), afterwards=partial(pool.refill, key))


def _after_queue(call: Call, queued: float) -> Call:
    """The call with what is left of its deadline after its wait since `queued`. Raises HttpError if nothing is left.

    A wait below _COUNTED_SECONDS does not count, so that most messages have the deadline that the author wrote.
    """
    waited = time.monotonic() - queued
    if waited < _COUNTED_SECONDS:
        return call
    left = call.deadline_seconds - waited
    if left <= 0:
        sentence = (
            "the call waited in the queue of the runner until its deadline, and nothing was run; try again"
        )
        raise HttpError("RUNNER_BUSY", sentence, retry_after_seconds=1)
    return replace(call, deadline_seconds=max(0.1, round(left, 1)))


def _in_environment(call: Call, environment: "Environment", started: float) -> Call:
    """The call in its environment. Its deadline counts from `started`, before the environment was found or built."""
    left = call.deadline_seconds - (time.monotonic() - started)
    return replace(call, environment=environment, deadline_seconds=max(left, 0.001))


def _read(body: Body, *, allows_reuse: bool) -> _InvokeBody:
    """The fields of a call; raises HttpError.

    Without `allows_reuse`, and for a call with secrets, the process serves no other call.
    """
    sha256 = body.digest("sha256")
    limits, min_isolation = _limits(body.an_object("limits", default={}))
    hosts, spec_fault = _network(body.get("network", []))
    lock = lock_in(body)
    environment = environment_in(body, lock)
    context = body.an_object("context", default={})
    reuse = body.whole_number("reuse", 1, REUSE_MAX, default=1)
    session = "" if body.get("session") is None else body.text("session", characters_max=256)
    if not allows_reuse or context.get("secrets"):
        reuse = 1
    arguments = body.an_object("arguments")
    call = Call(
        key=Key(
            tenant=body.text("tenant", characters_max=256),
            module=body.text("module", characters_max=128),
            sha256=sha256,
            limits=limits,
            network=hosts,
            environment=environment,
            reuse=reuse,
            session=session if reuse > 1 else None,
        ),
        tool=body.text("tool", characters_max=128),
        arguments=arguments,
        context=context,
        deadline_seconds=body.whole_number("deadlineMs", 1, DEADLINE_MS_MAX, default=DEADLINE_MS) / 1000,
        invocation_id=body.text("invocationId", characters_max=128),
        traceparent=_traceparent(body.optional_text("traceparent")),
        attached=attached_in(body, arguments),
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
        if outcome.kind is not None:
            answer["kind"] = outcome.kind
    elif outcome.value is not None:
        answer["value"] = orjson.Fragment(outcome.value)
    else:
        answer["text"] = outcome.text
    if outcome.content is not None:
        answer["content"] = orjson.Fragment(outcome.content)
    if outcome.observed.served:
        answer["reused"] = outcome.observed.served
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
