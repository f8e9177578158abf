"""Times one call without HTTP: by a confined child of the runner's pool, and by an unconfined worker.

Reads `{"calls", "pauseMs", "rounds", "folder", "socket", "arguments"}` from standard input and prints the rounds as JSON.
A round has the times of each contender's calls in microseconds.
"""

import asyncio
import hashlib
import json
import socket
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvloop

from toolrack_runner.server.base_folder import choose_base
from toolrack_runner.server.pool.call import Call, run_call
from toolrack_runner.server.pool.pool import Pool
from toolrack_runner.server.pool.warm_queue import Key
from toolrack_runner.server.readable import needed_paths, readable_paths
from toolrack_runner.wire.child_messages import Invocation, JsonResult
from toolrack_runner.wire.zygote_messages import Limits, Opening

TOOL = "echo_json:echo"
WORKER = str(Path(__file__).parent / "unconfined_worker.py")
#: The number of calls without a pause. They find no waiting child, so the pool then keeps as many children as it may.
BURST = 50
MESSAGE_BYTES_MAX = 1 << 16


@dataclass(frozen=True)
class Order:
    """The parameters of the measurement."""

    calls: int
    rounds: int
    pause_seconds: float
    folder: str
    socket: str
    arguments: dict[str, Any]


#: Makes one call. Returns the work after the call, which is not timed.
Attempt = Callable[[], Awaitable[Callable[[], Awaitable[None]]]]


class Confined:
    """The runner's pool, used as the runner's HTTP routes use it."""

    def __init__(self, order: Order) -> None:
        opening = Opening(
            preload=(),
            base=choose_base(),
            read_only=readable_paths(),
            needed=needed_paths(),
            without=(),
        )
        self._source = (Path(order.folder) / "echo_json.py").read_text()
        self._arguments = order.arguments
        digest = hashlib.sha256(self._source.encode()).hexdigest()
        self._key = Key("bench", "echo_json", digest, Limits())
        self.pool = Pool(opening, frozenset(), bytes_max=256 << 20)

    async def warm(self) -> str:
        """Fills the pool. Returns the missing layers of the jail; empty if none is missing."""
        ready = await self.pool.zygotes.plain_ready()
        for _ in range(BURST):
            await (await self.whole())()
        return ", ".join(sorted(ready.missing))

    async def whole(self) -> Callable[[], Awaitable[None]]:
        """The whole work of main for a call, without parsing the request and building the answer."""
        call = Call(self._key, TOOL, self._arguments, {}, 10.0, "bench")
        outcome = await run_call(self.pool, call, self._source)
        assert json.loads(outcome.value or b"") == self._arguments, outcome
        return self._refill

    async def bare(self) -> Callable[[], Awaitable[None]]:
        """Only takes a child, sends it the call, and receives the result."""
        worker = await self.pool.take(self._key, self._source)
        worker.send(Invocation(TOOL, self._arguments, {}))
        message = await worker.channel.receive()
        while not isinstance(message, JsonResult):
            message = await worker.channel.receive()
        assert json.loads(message.json) == self._arguments

        async def clear() -> None:
            worker.kill()
            await self._refill()

        return clear

    async def _refill(self) -> None:
        await self.pool.refill(self._key)


async def _nothing() -> None:
    pass


def unconfined(order: Order) -> Attempt:
    """Makes a new connection for each call. One process answers all calls."""

    async def attempt() -> Callable[[], Awaitable[None]]:
        loop = asyncio.get_running_loop()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.setblocking(False)
            await loop.sock_connect(connection, order.socket)
            await loop.sock_sendall(
                connection,
                json.dumps({"tool": TOOL, "arguments": order.arguments}).encode(),
            )
            answer = await loop.sock_recv(connection, MESSAGE_BYTES_MAX)
            assert json.loads(answer) == order.arguments
        return _nothing

    return attempt


@contextmanager
def worker(order: Order) -> Iterator[None]:
    """Lends the unconfined worker."""
    command = [sys.executable, "-I", WORKER, order.folder, order.socket]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        try:
            yield
        finally:
            process.kill()


async def times_of(attempt: Attempt, order: Order) -> list[float]:
    """The time of each call, in microseconds."""
    times = []
    for _ in range(order.calls):
        await asyncio.sleep(order.pause_seconds)
        started = time.perf_counter()
        clear = await attempt()
        times.append((time.perf_counter() - started) * 1e6)
        await clear()
    return times


async def measure(order: Order) -> dict[str, Any]:
    """Measures all rounds. In a round, each contender makes all its calls before the next contender starts."""
    confined = Confined(order)
    missing = await confined.warm()
    contenders: dict[str, Attempt] = {
        "whole": confined.whole,
        "bare": confined.bare,
        "unconfined": unconfined(order),
    }
    rounds = [
        {name: await times_of(attempt, order) for name, attempt in contenders.items()}
        for _ in range(order.rounds)
    ]
    confined.pool.close()
    return {"missing": missing, "rounds": rounds}


def main() -> None:
    """Reads the order from standard input and prints the figures."""
    told = json.load(sys.stdin)
    order = Order(
        calls=told["calls"],
        rounds=told["rounds"],
        pause_seconds=told["pauseMs"] / 1000,
        folder=told["folder"],
        socket=told["socket"],
        arguments=told["arguments"],
    )
    with worker(order):
        sys.stdout.write(json.dumps(uvloop.run(measure(order))))


main()
