"""One call: a child is taken, handed the call, watched until its deadline, and cleared away."""

import asyncio
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from toolrack_runner.network.broker import ConnectError, connect
from toolrack_runner.pool.answer import no_result, read_answer, too_large
from toolrack_runner.pool.channel import ChannelClosed
from toolrack_runner.pool.ending import end_of, explain_end, held_too_much, where
from toolrack_runner.pool.key import Key
from toolrack_runner.pool.long_calls import LONG_SECONDS
from toolrack_runner.pool.memory_watch import MemoryWatch, too_much
from toolrack_runner.pool.outcome import Outcome, Usage, failure
from toolrack_runner.pool.pool import Pool
from toolrack_runner.pool.worker import HeldTooMuch, Worker
from toolrack_runner.wire.child_messages import (
    Answer,
    CallFailure,
    Connect,
    ConnectReply,
    Failed,
    Imports,
    Invocation,
    JsonResult,
    MessageTooLarge,
    ProtocolError,
    Ready,
    TextResult,
)

#: Connections that one call may be given. A tool can keep one without a descriptor, so their number has no other bound.
CONNECTIONS_MAX = 256


@dataclass(frozen=True, slots=True)
class Call:
    """What `/invoke` asks for, parsed."""

    key: Key
    source: str
    tool: str
    arguments: dict[str, Any]
    context: dict[str, Any]
    deadline_seconds: float


async def run_call(pool: Pool, call: Call) -> Outcome:
    """Runs it in a child of its own; raises PoolFailure before anything ran."""
    with pool.busy():
        return await _run(pool, call)


async def _run(pool: Pool, call: Call) -> Outcome:
    started = time.monotonic()
    worker = await pool.take(call.key, call.source)
    cpu_before = worker.cpu_seconds()
    has_result = False
    watch = MemoryWatch(worker)
    late = asyncio.get_running_loop().call_later(
        LONG_SECONDS, _go_on_as_long, pool, call.key.tenant, worker, watch
    )
    try:
        worker.send(Invocation(call.tool, call.arguments, call.context))
        answer = await _watch(pool, worker, call, started + call.deadline_seconds)
        before = time.thread_time()
        outcome = (
            answer
            if isinstance(answer, Outcome)
            else read_answer(answer, tool=call.tool, output_bytes_max=call.key.limits.output_bytes)
        )
        main_seconds = worker.heard_seconds + time.thread_time() - before
        holding = worker.holding()
        reason = worker.ended_for or too_much(worker, holding)
        if outcome.code is None and reason is not None:
            outcome = await held_too_much(worker, reason, call.tool)
        has_result = outcome.code is None
        return replace(
            outcome,
            log=worker.output.text(),
            log_is_truncated=worker.output.is_truncated,
            usage=replace(
                _usage(worker, time.monotonic() - started, cpu_before, holding.resident_bytes_max),
                main_seconds=main_seconds,
            ),
        )
    finally:
        late.cancel()
        watch.stop()
        pool.long_calls.remove(call.key.tenant, worker)
        pool.recent_use.add(call.key.tenant, worker.cpu_seconds() - cpu_before)
        pool.let_go(worker, has_result=has_result)


def _go_on_as_long(pool: Pool, tenant: str, worker: Worker, watch: MemoryWatch) -> None:
    pool.long_calls.add(tenant, worker)
    watch.look()


async def _watch(pool: Pool, worker: Worker, call: Call, deadline: float) -> Answer | Outcome:
    output_bytes_max = call.key.limits.output_bytes
    try:
        async with asyncio.timeout(deadline - time.monotonic()):
            answer = await _answer(pool, worker, call)
    except TimeoutError:
        return failure(
            "DEADLINE_EXCEEDED",
            f"{call.tool} did not answer within {call.deadline_seconds:g} s{await where(worker, call.key.module)}; "
            "it was killed. Do less in one call, or raise timeoutSeconds in its spec",
        )
    except MessageTooLarge:
        return too_large(call.tool, None, output_bytes_max)
    except ProtocolError as broken:
        return no_result(call.tool, broken)
    except HeldTooMuch as reason:
        return await held_too_much(worker, reason, call.tool)
    except ChannelClosed:
        return explain_end(await end_of(worker, call.key.module), call.tool)
    if isinstance(answer, Failed):
        return failure("WORKER_DIED", f"the worker could not be confined or fed: {answer.reason}")
    if worker.has_said_more:
        return no_result(call.tool, ProtocolError("something came behind the answer"))
    return answer


async def _answer(pool: Pool, worker: Worker, call: Call) -> Answer | Failed:
    """The answer; what the child says before it is noted, or granted. Each comes at its time (`ChildLife`)."""
    given = 0
    while True:
        match await worker.receive():
            case TextResult() | JsonResult() | CallFailure() | Failed() as answer:
                return answer
            case Imports() as told:
                pool.learn(call.key, told)
            case Ready() as told:
                pool.learn_places(call.key, told)
            case Connect() if given >= CONNECTIONS_MAX:
                worker.reply(ConnectReply(f"a call may make {CONNECTIONS_MAX} connections"))
            case Connect() as wish:
                given += await _connect(pool, worker, call.key, wish)


async def _connect(pool: Pool, worker: Worker, key: Key, wish: Connect) -> bool:
    """Makes the connection that a tool asks for, and hands it in, or says why not; whether it was made."""
    try:
        look_up = partial(pool.names.find, key.tenant)
        connected = await connect(key.network, pool.network_allowed, wish, look_up)
    except ConnectError as refused:
        worker.reply(ConnectReply(str(refused)))
        return False
    with connected:
        worker.reply(ConnectReply(), connected.fileno())
    return True


def _usage(worker: Worker, seconds: float, cpu_before: float, resident_bytes_max: int) -> Usage:
    if worker.gone.done() and (gone := worker.gone.result()) is not None:
        return Usage(seconds * 1000, gone.cpu_seconds * 1000, gone.resident_bytes_max)
    cpu = max(worker.cpu_seconds() - cpu_before, 0.0)
    return Usage(seconds * 1000, cpu * 1000, resident_bytes_max)
