"""Runs one call: takes a child, sends it the call, watches it until the deadline, and kills it after the answer."""

import asyncio
import time
from dataclasses import dataclass, replace
from functools import partial

from toolrack_runner.rfc3339 import rfc3339
from toolrack_runner.server.network.broker import ConnectError, connect
from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.pool.call_events import CallEvents
from toolrack_runner.server.pool.channel import ChannelClosedError
from toolrack_runner.server.pool.ending import REAPING_SECONDS, end_of, is_reaped, line_now
from toolrack_runner.server.pool.memory_watch import too_much
from toolrack_runner.server.pool.outcome import (
    CallOutcome,
    explain_end,
    no_result,
    observe,
    read_answer,
    too_large,
)
from toolrack_runner.server.pool.pool import Pool
from toolrack_runner.server.pool.warm_queue import Key
from toolrack_runner.server.pool.worker import HeldTooMuchError, Worker
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
        worker = await pool.take(call.key, source, call.environment)
        has_result = False
        try:
            with pool.at_work(call.key.tenant, worker) as cpu_before:
                deadline = started + call.deadline_seconds
                context = call.context | {"deadline": rfc3339(time.time() + deadline - time.monotonic())}
                streams = events is not None and events.with_values
                if events is not None:
                    events.begin(worker)
                worker.send(messages.Invocation(call.tool, call.arguments, context, streams))
                outcome = await _watch(pool, worker, call, deadline, events)
                holding = worker.holding()
                reason = worker.ended_for or too_much(worker, holding)
                if outcome.code is None and reason is not None:
                    outcome = await _held_too_much(worker, reason, call.tool)
                observed = observe(worker, holding, started=started, cpu_before=cpu_before)
            has_result = outcome.code is None
            return replace(outcome, observed=observed)
        finally:
            if events is not None:
                events.end()
            # The output is dropped now. Python would free it only when it collects cycles, because objects of the worker
            # refer to each other.
            worker.output.end_at(0)
            pool.behind.kill(worker, has_result=has_result)


async def _watch(
    pool: Pool, worker: Worker, call: Call, deadline: float, events: CallEvents | None
) -> CallOutcome:
    try:
        async with asyncio.timeout(deadline - time.monotonic()):
            answer = await _answer(pool, worker, call, events)
    except TimeoutError:
        place = await line_now(worker, call.key.module)
        where = f" ({place.shown} was running)" if place else ""
        return CallOutcome(
            code="DEADLINE_EXCEEDED",
            error=f"{call.tool} did not answer within {call.deadline_seconds:g} s{where}; "
            "it was killed. Do less in one call, or raise timeoutSeconds in its spec",
        )
    except MessageTooLargeError:
        return too_large(call.tool, "more", call.key.limits.output_bytes)
    except ProtocolError as broken:
        return no_result(call.tool, broken)
    except HeldTooMuchError as reason:
        return await _held_too_much(worker, reason, call.tool)
    except ChannelClosedError:
        return explain_end(await end_of(worker, call.key.module), call.tool)
    if isinstance(answer, messages.Failed):
        error = f"the worker could not be confined or fed: {answer.reason}"
        return CallOutcome(code="WORKER_DIED", error=error)
    if worker.has_said_more:
        return no_result(call.tool, ProtocolError("something came after the answer"))
    with worker.channel.timed():
        return read_answer(answer, tool=call.tool, output_bytes_max=call.key.limits.output_bytes)


async def _answer(
    pool: Pool, worker: Worker, call: Call, events: CallEvents | None
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
            case messages.Progress() | messages.Values() as event if events is not None:
                with worker.channel.timed():
                    events.hear(event)
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
        worker.channel.reply(messages.ConnectReply(str(refused)))
        return False
    with connected:
        worker.channel.reply(messages.ConnectReply(), connected.fileno())
    return True


async def _held_too_much(worker: Worker, reason: HeldTooMuchError, tool: str) -> CallOutcome:
    """Waits until the child is reaped, because then its processor time and memory are known. Returns the outcome."""
    await is_reaped(worker, REAPING_SECONDS)
    return CallOutcome(code="MEMORY_LIMIT", error=f"{tool} was ended: {reason}. Work on less at a time")
