"""Takes `sendmsg` off the sockets of tools, so that libraries that can do without it do: the jail denies it."""

import socket


class _NotHere:
    """An attribute that is not there, also where a base class has it."""

    def __get__(self, _instance: object, owner: type) -> object:
        raise AttributeError(
            f"type object {owner.__name__!r} has no attribute 'sendmsg': the sandbox denies it"
        )


def hide_sendmsg() -> None:
    """Once, in the zygote, before anything is imported that asks whether there is one, as asyncio does from 3.12 on."""
    socket.socket.sendmsg = _NotHere()  # type: ignore[method-assign, assignment]
