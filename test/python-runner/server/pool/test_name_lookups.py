"""Names whose name server never answers hold their own user's look-ups only."""

import asyncio
import socket
import threading
from functools import partial
from typing import Any

import pytest

from toolrack_runner.hosts import Host
from toolrack_runner.server.network.broker import ConnectError, connect
from toolrack_runner.server.network.public_address import read_networks
from toolrack_runner.server.pool import name_lookups
from toolrack_runner.server.pool.name_lookups import (
    LOOK_UPS,
    LOOK_UPS_PER_USER,
    WAITING_PER_USER,
    NameLookUps,
)
from toolrack_runner.wire.child_messages import Connect

HANGS = "hangs.example"


class Resolver:
    """Answers for localhost, and for nothing else until `answers` is set."""

    def __init__(self) -> None:
        self.answers = threading.Event()
        self.asked = 0

    def __call__(self, name: str, port: int, **_: Any) -> list[Any]:
        if name == HANGS:
            self.asked += 1
            assert self.answers.wait(60)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return [(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "", ("127.0.0.1", port))]


async def until(holds: Any) -> None:
    """As `support.until`, while the loop goes on."""
    async with asyncio.timeout(20):
        while not holds():  # noqa: ASYNC110 - what is asked changes in another thread
            await asyncio.sleep(0.002)


async def cancelled(tasks: list["asyncio.Task[Any]"]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def test_who_has_names_that_never_answer_keeps_nobody_else_from_connecting() -> None:
    resolver = Resolver()

    async def play(port: int) -> None:
        names = NameLookUps(resolve=resolver)
        hanging = [asyncio.create_task(names.find("a", HANGS, 443)) for _ in range(LOOK_UPS)]
        await until(lambda: resolver.asked == LOOK_UPS_PER_USER)
        # The calls end at their deadlines; the threads do not.
        await cancelled(hanging)
        late = [asyncio.create_task(names.find("a", HANGS, 443)) for _ in range(LOOK_UPS)]
        hosts = (Host("localhost", (port,)),)
        wish = Connect("localhost", port)
        allowed = read_networks("127.0.0.0/8")
        (await connect(hosts, allowed, wish, partial(names.find, "b"))).close()
        assert resolver.asked == LOOK_UPS_PER_USER
        resolver.answers.set()
        with pytest.raises(socket.gaierror):
            await late[-1]
        await cancelled(late)
        (await connect(hosts, allowed, wish, partial(names.find, "a"))).close()

    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            asyncio.run(play(server.getsockname()[1]))
    finally:
        resolver.answers.set()


def test_one_user_s_excess_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_lookups, "WAIT_SECONDS", 0.05)
    resolver = Resolver()

    async def play() -> None:
        names = NameLookUps(resolve=resolver)
        tasks = [
            asyncio.create_task(names.find("a", HANGS, 443))
            for _ in range(LOOK_UPS_PER_USER + WAITING_PER_USER + 1)
        ]
        # The last finds no place to wait in; the one before waits, and in vain.
        for task in (tasks[-1], tasks[-2]):
            with pytest.raises(ConnectError, match="too many look-ups of names are under way for you"):
                await task
        await cancelled(tasks)

    try:
        asyncio.run(play())
    finally:
        resolver.answers.set()


def test_one_user_alone_may_have_all_of_them() -> None:
    resolver = Resolver()

    async def play() -> None:
        names = NameLookUps(is_for_one_user=True, resolve=resolver)
        tasks = [asyncio.create_task(names.find("a", HANGS, 443)) for _ in range(LOOK_UPS)]
        await until(lambda: resolver.asked == LOOK_UPS)
        await cancelled(tasks)

    try:
        asyncio.run(play())
    finally:
        resolver.answers.set()
