"""One call: a child is taken, handed the call, watched until its deadline, and cleared away."""

import asyncio
import time
from dataclasses import dataclass, replace
from typing import Any

from toolrack_runner.network.broker import Refused, connect
from toolrack_runner.pool.answer import no_result, read_answer, too_large
from toolrack_runner.pool.ending import end_of, explain_end, held_too_much, where
from toolrack_runner.pool.memory_watch import FIRST_SECONDS, MemoryWatch
from toolrack_runner.pool.outcome import Outcome, Usage, failure
from toolrack_runner.pool.pool import Key, Pool
from toolrack_runner.pool.worker import HeldTooMuch, SaidNonsense, SaidNothing, SaidTooMuch, Worker

#: A call that takes longer yields to the others and to the runner; most have been answered by then.
LONG_SECONDS = 0.02


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
    late = asyncio.get_running_loop().call_later(LONG_SECONDS, _go_on_as_long, worker, watch)
    try:
        worker.send({"tool": call.tool, "arguments": call.arguments, "context": call.context})
        outcome = await _watch(pool, worker, call, started + call.deadline_seconds)
        has_result = outcome.code is None
        return replace(
            outcome,
            log=worker.output.text(),
            log_is_truncated=worker.output.is_truncated,
            usage=_usage(worker, time.monotonic() - started, cpu_before),
        )
    finally:
        late.cancel()
        watch.stop()
        pool.let_go(worker, has_result=has_result)


def _go_on_as_long(worker: Worker, watch: MemoryWatch) -> None:
    worker.yield_to_others()
    watch.start(FIRST_SECONDS - LONG_SECONDS)


async def _watch(pool: Pool, worker: Worker, call: Call, deadline: float) -> Outcome:
    output_bytes_max = call.key.limits.output_bytes
    try:
        async with asyncio.timeout(deadline - time.monotonic()):
            message = await _answer(pool, worker, call)
    except TimeoutError:
        return failure(
            "DEADLINE_EXCEEDED",
            f"{call.tool} did not answer within {call.deadline_seconds:g} s{await where(worker, call.key.module)}; "
            "it was killed. Do less in one call, or raise timeoutSeconds in its spec",
        )
    except SaidTooMuch:
        return too_large(call.tool, output_bytes_max)
    except SaidNonsense:
        return no_result(call.tool)
    except HeldTooMuch as reason:
        return await held_too_much(worker, reason, call.tool)
    except SaidNothing:
        return explain_end(await end_of(worker, call.key.module), call.tool)
    if worker.has_said_more:
        return no_result(call.tool)
    if not worker.has_imported and isinstance(broken := message.get("failed"), str):
        return failure("WORKER_DIED", f"the worker could not be confined or fed: {broken[:500]}")
    return read_answer(message, tool=call.tool, output_bytes_max=output_bytes_max)


async def _answer(pool: Pool, worker: Worker, call: Call) -> dict[str, Any]:
    """What comes behind what the module imports and that it is imported, each of which is said once at most."""
    message = await worker.receive()
    if not worker.has_imported and isinstance(imports := message.get("imports"), list):
        # Said before any code of the module ran: nobody else chooses which packages a zygote is started with.
        code = message.get("code")
        pool.learn(call.key, imports, code if isinstance(code, str) else None)
        message = await worker.receive()
        worker.has_imported = True
    if message.get("ready") is True:
        pool.learn_places(call.key, message.get("places"))
        message = await worker.receive()
    while call.key.network and isinstance(wish := message.get("connect"), dict):
        await _connect(pool, worker, call.key, wish)
        message = await worker.receive()
    return message


async def _connect(pool: Pool, worker: Worker, key: Key, wish: dict[str, Any]) -> None:
    """Makes the connection that a tool asks for, and hands it in; or says why not."""
    try:
        connected = await connect(key.network, pool.network_allowed, wish)
    except Refused as refused:
        worker.give({"refused": str(refused)})
        return
    with connected:
        worker.give({"connected": True}, connected.fileno())


def _usage(worker: Worker, seconds: float, cpu_before: float) -> Usage:
    if worker.gone.done() and (gone := worker.gone.result()) is not None:
        return Usage(seconds * 1000, gone.cpu_seconds * 1000, gone.resident_bytes_max)
    cpu = max(worker.cpu_seconds() - cpu_before, 0.0)
    return Usage(seconds * 1000, cpu * 1000, worker.resident_bytes_max())
