"""Learns from the kernel which memory pages the calls of a module write, so that the next children copy them ahead.

A forked child shares the memory of its zygote. When it first writes to a page, the kernel copies the page, which takes 2 to
3 microseconds. A call of a tool with pandas writes 1,500 pages. All children of one zygote have the same addresses, so a
child that waits can have these pages copied before its call (`child/write_pages.py`). As measured, a call of such a tool
then takes 2.3 ms of processor time in place of 5, and a call without packages 0.36 ms in place of 0.54.
"""

import os
from contextlib import suppress
from typing import Final

from toolrack_runner.page_ranges import PAGE_BYTES, pages_text

#: The most pages that a child copies before its call. They take 16 MB of each waiting child.
PAGES_MAX: Final = (16 << 20) // PAGE_BYTES
#: Of how many tools of a module the pages are learned.
TOOLS_MAX: Final = 8
#: How many mappings of a child are searched. A child with pandas and scipy has 960.
MAPPINGS_MAX: Final = 2_000
#: How many bytes of mappings are searched. With both bounds, the search takes less than 10 ms.
SEARCHED_BYTES_MAX: Final = 256 << 20
#: In `/proc/<pid>/pagemap`, the bits of a page that is in memory and belongs to one process only.
_OWN: Final = 1 << 63 | 1 << 56


def written_pages(pid: int) -> frozenset[int]:
    """The numbers of the pages that a child has written since its fork, of its private mappings.

    Empty if the child has more mappings than are searched, or if the kernel shows them to root only and this process is
    another user.
    """
    found: list[int] = []
    searched = 0
    with (
        suppress(OSError),
        open(f"/proc/{pid}/pagemap", "rb", buffering=0) as pages,
        open(f"/proc/{pid}/maps", "rb") as maps,
    ):
        for number, mapping in enumerate(maps):
            if number >= MAPPINGS_MAX:
                return frozenset()
            addresses, rights = mapping.split(None, 2)[:2]
            if rights == b"rw-p":
                first, end = (int(address, 16) // PAGE_BYTES for address in addresses.split(b"-"))
                searched += (end - first) * PAGE_BYTES
                if searched > SEARCHED_BYTES_MAX:
                    return frozenset()
                entries = memoryview(os.pread(pages.fileno(), (end - first) * 8, first * 8)).cast("Q")
                found += [first + at for at, entry in enumerate(entries) if entry & _OWN == _OWN]
    return frozenset(found)


class WrittenPages:
    """The pages that the calls of one module write in children of one origin.

    An origin is a zygote, and how much memory its children share with it: after its start, a zygote imports more modules.
    """

    def __init__(self) -> None:
        self._origin: object = None
        self._tools: set[str] = set()
        self._pages: frozenset[int] = frozenset()
        self._text = ""

    @property
    def bytes(self) -> int:
        """The memory of all these pages."""
        return len(self._pages) * PAGE_BYTES

    def text_for(self, origin: object) -> str:
        """The pages that a new child of this origin copies ahead (`pages_text`). Empty if none are known."""
        return self._text if origin == self._origin else ""

    def wants(self, origin: object, tool: str) -> bool:
        """Whether a call of this tool, in a child of this origin, would add something."""
        return origin != self._origin or (tool not in self._tools and len(self._tools) < TOOLS_MAX)

    def learn(self, origin: object, tool: str, pages: frozenset[int]) -> None:
        """Adds the pages that a call of this tool has written. If they are too many with the others, leaves them out."""
        if origin != self._origin:
            self._origin, self._tools, self._pages, self._text = origin, set(), frozenset(), ""
        self._tools.add(tool)
        pages |= self._pages
        if len(pages) <= PAGES_MAX and (text := pages_text(pages)):
            self._pages, self._text = pages, text
