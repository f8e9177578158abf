"""Runs the app in uvicorn. Starts the pool with the event loop, writes the runner's address, and stops on a signal."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import orjson
import uvicorn
from starlette.applications import Starlette

from toolrack_runner.server.base_folder import remove_base
from toolrack_runner.server.frames.door import Door
from toolrack_runner.server.http.app import make_app
from toolrack_runner.server.http.runner import Runner, shares_of_calls, shares_of_checks
from toolrack_runner.server.level.measurement import Measurement
from toolrack_runner.server.log import log_as_json
from toolrack_runner.server.packages.folders import Folders
from toolrack_runner.server.packages.refusal import PackagesUnavailableError
from toolrack_runner.server.pool.fair_queue import FairQueue
from toolrack_runner.server.pool.pool import Pool
from toolrack_runner.server.pool.zygotes import installed_packages
from toolrack_runner.server.settings import Settings
from toolrack_runner.wire.zygote_messages import Opening, ZygoteChannel

#: How many seconds running calls may go on after SIGTERM. Cloud Run waits ten seconds.
GRACE_SECONDS = 8


def make_runner(
    settings: Settings, opening: Opening, first: tuple[int, ZygoteChannel] | None, clear: Callable[[], None]
) -> Runner:
    """Makes the runner with the zygote `first`. If it is None, no calls run, and each answer says why.

    `clear` removes the canaries when the level was measured.
    """
    loop = asyncio.get_running_loop()
    calls = FairQueue(shares_of_calls(settings.slots, settings.user_slots), loop)
    checks = FairQueue(shares_of_checks(settings.slots, settings.user_slots), loop)
    if first is None:
        return Runner(settings, None, calls, checks, Measurement(None, clear))
    pool = Pool(
        opening,
        installed_packages(settings.packages.preload),
        bytes_max=settings.pool_bytes,
        first=first,
        network_allowed=settings.network_allowed,
        is_for_one_user=settings.is_for_one_user,
    )
    return Runner(settings, pool, calls, checks, Measurement(pool, clear))


def run_server(
    settings: Settings,
    secret: str | None,
    listener: socket.socket,
    opening: Opening,
    first: tuple[int, ZygoteChannel] | None,
    clear: Callable[[], None],
) -> None:
    """Serves until SIGTERM comes. If the runner has a parent, also until standard input ends."""
    log_as_json()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        runner = app.state.runner = make_runner(settings, opening, first, clear)
        door = Door(opening.base)
        if settings.has_parent:
            asyncio.get_running_loop().add_reader(0, _on_standard_input, runner, opening.base, door)
        if secret is not None:
            await door.open(runner, secret)
        _tell_address(listener, door.path)
        sweeping = asyncio.create_task(_sweep_packages(runner))
        try:
            yield
        finally:
            sweeping.cancel()
            await door.close(GRACE_SECONDS)
            runner.close()
            remove_base(opening.base)

    config = uvicorn.Config(
        make_app(lifespan, secret),
        loop="uvloop",
        http="httptools",
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = uvicorn.Server(config)
    # On SIGTERM, uvicorn shuts down, and then sends the signal to itself again. This handler ignores the second signal.
    signal.signal(signal.SIGTERM, lambda *_: None)
    # A Ctrl-C reaches the runner too, but only its parent process decides when it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server.run(sockets=[listener])


async def _sweep_packages(runner: Runner) -> None:
    """Removes what an installation of packages has left whose runner was killed."""
    packages = runner.settings.packages
    if packages.is_on and Folders(packages.folder).has_leftovers:
        with suppress(PackagesUnavailableError):
            await runner.packages.environments.open()


def _tell_address(listener: socket.socket, path: str | None) -> None:
    """Writes the runner's address, its pid and the path of its socket, as the only line on standard output."""
    host, port = listener.getsockname()[:2]
    host = f"[{host}]" if ":" in host else host
    line: dict[str, object] = {"listening": f"http://{host}:{port}", "pid": os.getpid()}
    if path is not None:
        line["socket"] = path
    sys.stdout.write(orjson.dumps(line).decode() + "\n")
    sys.stdout.flush()


def _on_standard_input(runner: Runner, base: str, door: Door) -> None:
    """Stops the runner if standard input has ended, because then the parent has ended too.

    No process and no file is left behind.
    """
    if os.read(0, 1 << 12):
        return
    runner.close()
    remove_base(base)
    door.remove()
    os._exit(0)
