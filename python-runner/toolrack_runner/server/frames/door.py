"""The Unix socket at which the service makes calls, beside HTTP. It is faster, because it has no HTTP to read and write."""

import asyncio
import logging
import os
import socket
from contextlib import suppress

from toolrack_runner.server.base_folder import remove_base
from toolrack_runner.server.frames.connection import Connection
from toolrack_runner.server.http.runner import Runner

_log = logging.getLogger("toolrack_runner")


class Door:
    """A listening socket in a folder that only the user of the runner can enter."""

    def __init__(self, base: str) -> None:
        self.folder = f"{base}-frames"
        #: The path of the socket; None if there is none.
        self.path: str | None = None
        self._server: asyncio.Server | None = None
        self._connections: set[Connection] = set()

    async def open(self, runner: Runner, secret: str) -> None:
        """Listens. If the system does not let it, there is no socket, and the service uses HTTP."""
        path = f"{self.folder}/socket"
        listener = None
        try:
            os.mkdir(self.folder, 0o700)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(path)
            loop = asyncio.get_running_loop()
            self._server = await loop.create_unix_server(
                lambda: Connection(runner, secret, self._connections), sock=listener
            )
        except OSError as error:
            if listener is not None:
                listener.close()
            self.remove()
            _log.warning("calls come over HTTP, because there is no socket", extra={"reason": f"{error}"})
            return
        self.path = path

    async def close(self, grace_seconds: float) -> None:
        """Takes no more requests, waits for the running calls, and removes the folder."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            if not connection.calls:
                connection.close()
        if calls := [call for connection in self._connections for call in connection.calls.values()]:
            await asyncio.wait(calls, timeout=grace_seconds)
        for connection in list(self._connections):
            connection.close()
        self.remove()

    def remove(self) -> None:
        """Removes the folder, if it exists."""
        with suppress(OSError):
            remove_base(self.folder)
