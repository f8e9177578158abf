"""What a child prints is kept up to the cap, and read on."""

import asyncio
import os

from toolrack_runner.server.pool.output import LOG_BYTES, Output


def test_a_flood_is_read_to_its_end_and_its_beginning_is_kept() -> None:
    async def flood() -> tuple[int, bool, bytes]:
        output = Output()
        writer = os.dup(output.child_end)
        output.handed_over()
        pages = b"x" * (1 << 20)
        await asyncio.to_thread(_write_all, writer, pages)
        os.close(writer)
        kept = output.text()
        output.close()
        return len(kept), output.is_truncated, kept[:1].encode()

    assert asyncio.run(flood()) == (LOG_BYTES, True, b"x")


def test_what_is_still_in_the_pipe_at_the_end_is_kept() -> None:
    async def end() -> tuple[str, bool]:
        output = Output()
        os.write(output.child_end, b"x" * LOG_BYTES)
        output.close()
        return output.text(), output.is_truncated

    assert asyncio.run(end()) == ("x" * LOG_BYTES, False)


def test_a_log_ends_where_it_is_cut_and_what_comes_later_is_none_of_it() -> None:
    async def cut() -> tuple[str, bool]:
        output = Output()
        os.write(output.child_end, b"printed, then asked")
        assert output.text() == "printed, then asked"
        output.end_at(len("printed"))
        os.write(output.child_end, b" and the rest")
        text = output.text()
        output.close()
        return text, output.is_truncated

    assert asyncio.run(cut()) == ("printed", False)


def test_who_waits_for_more_is_woken_by_it() -> None:
    async def wait() -> str:
        output = Output()
        waiting = asyncio.ensure_future(output.more())
        await asyncio.sleep(0)
        os.write(output.child_end, b"more")
        await asyncio.wait_for(waiting, 20)
        text = output.text()
        output.close()
        return text

    assert asyncio.run(wait()) == "more"


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
