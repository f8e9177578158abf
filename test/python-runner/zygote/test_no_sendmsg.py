"""Code that looks for `sendmsg` before it uses it finds none, because the jail denies it."""

from support.live_runner import LiveRunner

SOURCE = '''
import asyncio
import socket


def has() -> list:
    """What tools and libraries ask."""
    one, other = socket.socketpair()
    with one, other:
        return [hasattr(socket.socket, "sendmsg"), hasattr(one, "sendmsg"), hasattr(one, "recvmsg")]


async def stream() -> int:
    """More than a socket takes at once, in pieces."""
    one, other = socket.socketpair()
    reader, kept = await asyncio.open_connection(sock=one)
    also_kept, writer = await asyncio.open_connection(sock=other)

    async def write() -> None:
        for _ in range(16):
            writer.write(bytes(100_000))
            writer.writelines([bytes(50_000), bytes(50_000)])
        await writer.drain()
        writer.write_eof()

    written = asyncio.create_task(write())
    read = len(await reader.read())
    await written
    return read


TOOL_SPECS = [
    {"name": "streams:has", "description": has.__doc__, "handler": has},
    {"name": "streams:stream", "description": stream.__doc__, "handler": stream},
]
'''


def test_a_socket_has_no_sendmsg_and_asyncio_sends_without_it(runner: LiveRunner) -> None:
    assert runner.invoke(SOURCE, "streams:has").get("value") == [False, False, True]
    assert runner.invoke(SOURCE, "streams:stream").get("value") == 3_200_000
