"""Runs one call: takes a child, sends it the call, watches it until the deadline, and kills it after the answer.

A child that may serve several calls is not killed, but given back (`parking.py`).
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from toolrack_runner.rfc3339 import rfc3339
from toolrack_runner.server.network.broker import ConnectError, DeniedError, connect
from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.pool.call_events import CallEvents
from toolrack_runner.server.pool.channel import ChannelClosedError
from toolrack_runner.server.pool.ending import REAPING_SECONDS, End, end_of, is_reaped, line_now
from toolrack_runner.server.pool.made_content import ContentTooLargeError, MadeContent
from toolrack_runner.server.pool.memory_watch import too_much
from toolrack_runner.server.pool.outcome import (
    CallOutcome,
    explain_end,
    no_result,
    observe,
    read_answer,
    too_large,
    too_much_content,
)
from toolrack_runner.server.pool.pool import Pool
from toolrack_runner.server.pool.warm_queue import Key
from toolrack_runner.server.pool.worker import HeldTooMuchError, UsedTooMuchError, Worker
from toolrack_runner.wire import child_messages as messages
from toolrack_runner.wire.child_messages import Answer, MessageTooLargeError, ProtocolError, SourceText
from toolrack_runner.wire.frames import JsonObject

#: How many connections one call may make. The limit of open files is not enough, because a tool can keep a connection
#: without a descriptor.
CONNECTIONS_MAX = 256


@dataclass(frozen=True, slots=True)
class Call:
    key: Key
    tool: str
    arguments: JsonObject
    context: JsonObject
    deadline_seconds: float
    #: The id that the caller has given the call. Log lines of the runner about the call contain it too.
    invocation_id: str
    #: The W3C trace context that the caller sent, for the log lines.
    traceparent: str | None = None
    #: The environment whose digest the key has; None if the module has no packages of its own.
    environment: Environment | None = None
    #: The files for the arguments (`messages.Invocation`).
    attached: Sequence[Mapping[str, str]] = ()

    @property
    def log_fields(self) -> dict[str, str]:
        """The fields of every log line about the call."""
        fields = {"invocationId": self.invocation_id}
        return fields if self.traceparent is None else fields | {"traceparent": self.traceparent}


async def run_call(
    pool: Pool, call: Call, source: SourceText, events: CallEvents | None = None
) -> CallOutcome:
    """Runs a call in its own child, and passes its events on. If PoolError is raised, no code of the module has run."""
    with pool.behind.busy():
        started = time.monotonic()
        worker = await pool.take(call.key, source, call.environment, call.deadline_seconds)
        has_result = False
        try:
            with pool.at_work(call.key.tenant, worker) as cpu_before:
                deadline = started + call.deadline_seconds
                context = call.context | {"deadline": rfc3339(time.time() + deadline - time.monotonic())}
                streams = events is not None and events.with_values
                if events is not None:
                    events.begin(worker)
                order = messages.Invocation(
                    call.tool, call.arguments, context, streams, worker.served, call.attached
                )
                # What a child holds before its first call is measured before that call is sent.
                waits = call.key.session is not None and worker.before is None
                if not waits:
                    worker.send(order)
                outcome = await _watch(pool, worker, call, deadline, events, order if waits else None)
                holding = worker.holding()
                reason = worker.ended_for or too_much(worker, holding)
                if outcome.code is None and reason is not None:
                    outcome = await _over_its_limit(worker, reason, call.tool)
                observed = observe(worker, holding, started=started, cpu_before=cpu_before)
            has_result = outcome.code is None
            return replace(outcome, observed=observed)
        finally:
            if events is not None:
                events.end()
            pool.give_back(call.key, call.tool, worker, has_result=has_result)


async def _watch(
    pool: Pool,
    worker: Worker,
    call: Call,
    deadline: float,
    events: CallEvents | None,
    order: messages.Invocation | None,
) -> CallOutcome:
    """Waits for the outcome. If there is an `order`, sends it when the child has imported its module."""
    content = MadeContent()
    try:
        async with asyncio.timeout(deadline - time.monotonic()):
            answer = await _answer(pool, worker, call, events, order, content)
    except TimeoutError:
        place = await line_now(worker, call.key.module)
        where = f" ({place.shown} was running)" if place else ""
        return CallOutcome(
            code="DEADLINE_EXCEEDED",
            error=f"{call.tool} did not answer within {call.deadline_seconds:g} s{where}; "
            "it was killed. Do less in one call, or raise timeoutSeconds in its spec",
        )
    except ContentTooLargeError as much:
        return too_much_content(call.tool, much)
    except MessageTooLargeError:
        return too_large(call.tool, "more", call.key.limits.output_bytes)
    except ProtocolError as broken:
        return no_result(call.tool, broken)
    except HeldTooMuchError as reason:
        return await _over_its_limit(worker, reason, call.tool)
    except ChannelClosedError:
        return explain_end(await end_of(worker, call.key.module), call.tool)
    return _outcome(worker, call, answer, content)


def _outcome(
    worker: Worker, call: Call, answer: Answer | messages.Failed, content: MadeContent
) -> CallOutcome:
    """The outcome of a call with this answer, and with the images and files that came before it."""
    if isinstance(answer, messages.Failed):
        error = f"the worker could not be confined or fed: {answer.reason}"
        return CallOutcome(code="WORKER_DIED", error=error)
    if worker.has_said_more:
        return no_result(call.tool, ProtocolError("something came after the answer"))
    with worker.channel.timed():
        outcome = read_answer(answer, tool=call.tool, output_bytes_max=call.key.limits.output_bytes)
        if outcome.code is not None:
            return outcome
        try:
            made = content.json()
        except ProtocolError as broken:
            return no_result(call.tool, broken)
        return outcome if made is None else replace(outcome, content=made)


async def _answer(
    pool: Pool,
    worker: Worker,
    call: Call,
    events: CallEvents | None,
    order: messages.Invocation | None,
    content: MadeContent,
) -> Answer | messages.Failed:
    """Waits for the answer. Handles the messages before it. `ChildLife` has checked that each of them may come now."""
    given = 0
    while True:
        message = await worker.channel.receive()
        if isinstance(message, Answer | messages.Failed):
            return message
        match message:
            case messages.Imports() | messages.Ready() as facts:
                pool.learn(call.key, facts)
                if order is not None and isinstance(facts, messages.Ready):
                    await worker.is_born.wait()
                    worker.before = worker.holding()
                    worker.send(order)
            case messages.Progress() | messages.Values() as event if events is not None:
                with worker.channel.timed():
                    events.hear(event)
            case messages.ContentPart() | messages.ContentPiece() as made:
                with worker.channel.timed():
                    content.hear(made)
            case messages.Connect() if given >= CONNECTIONS_MAX:
                worker.channel.reply(messages.ConnectReply(f"a call may make {CONNECTIONS_MAX} connections"))
            case messages.Connect() as wish:
                given += await _connect(pool, worker, call.key, wish)


async def _connect(pool: Pool, worker: Worker, key: Key, wish: messages.Connect) -> bool:
    """Makes a connection for a tool, and passes it to the child. If it is refused, sends the reason.

    Returns whether there is a connection.
    """
    try:
        look_up = partial(pool.names.find, key.tenant)
        connected = await connect(key.network, pool.network_allowed, wish, look_up)
    except ConnectError as refused:
        worker.channel.reply(messages.ConnectReply(str(refused), isinstance(refused, DeniedError)))
        return False
    with connected:
        worker.channel.reply(messages.ConnectReply(), connected.fileno())
    return True


async def _over_its_limit(worker: Worker, reason: HeldTooMuchError, tool: str) -> CallOutcome:
    """Waits until the child is reaped, because then its processor time and memory are known. Returns the outcome."""
    await is_reaped(worker, REAPING_SECONDS)
    if isinstance(reason, UsedTooMuchError):
        return explain_end(End(reason.code, f"{reason}"), tool)
    return CallOutcome(code=reason.code, error=f"{tool} was ended: {reason}. Work on less at a time")
