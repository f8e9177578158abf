"""Which output of a child is an event of its call."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from server.pool.fakes import key_of
from toolrack_runner.server.pool.call import Call, run_call
from toolrack_runner.server.pool.call_events import CallEvents
from toolrack_runner.server.pool.worker import Worker
from toolrack_runner.wire.child_messages import CallOrder, Ready, Starting, TextResult
from toolrack_runner.wire.frames import write_frame
from toolrack_runner.wire.zygote_messages import Limits


class OneChild:
    """A pool with one child, whose part the test plays: it answers, and prints until it is killed."""

    def __init__(self) -> None:
        self.worker = Worker(number=1, slot=0, limits=Limits())
        self.behind = self

    @contextmanager
    def busy(self) -> Iterator[None]:
        """During the call."""
        yield

    @contextmanager
    def at_work(self, _tenant: str, worker: Worker) -> Iterator[float]:
        """During the call."""
        yield worker.cpu_seconds()

    async def take(self, _key: object, source: str, environment: object, _seconds: float) -> Worker:
        """The child, ready for its call."""
        assert environment is None
        self.worker.send(CallOrder("m", source, None, rehearse=False, network=False))
        self._say(Starting(), Ready())
        await self.worker.channel.receive()
        await self.worker.channel.receive()
        asyncio.get_running_loop().call_soon(self._say, TextResult("x"))
        return self.worker

    def give_back(self, _key: object, _tool: str, worker: Worker, *, has_result: bool) -> None:
        """A thread of the tool prints until here."""
        assert has_result
        worker.output.end_at(0)
        os.write(worker.output.child_end, b"late")
        worker.output.close()
        assert worker.output.text() == ""
        worker.kill()

    def _say(self, *messages: Any) -> None:
        for message in messages:
            write_frame(self.worker.channel.childs_end, message.as_json())


def test_what_a_thread_prints_after_the_answer_wakes_nobody() -> None:
    async def call() -> tuple[str, int]:
        woken: list[int] = []
        pool: Any = OneChild()
        events = CallEvents(lambda: woken.append(1), with_values=False)
        asked = Call(key_of("m"), "m:t", {}, {}, deadline_seconds=60, invocation_id="i")
        outcome = await run_call(pool, asked, "", events)
        return outcome.text or "", len(woken)

    assert asyncio.run(call()) == ("x", 0)
