"""Has the kernel copy the pages that a call will write, before the call comes (`server/pool/written_pages.py`)."""

from contextlib import suppress
from typing import Final

from toolrack_runner.child.jail.linux import syscall
from toolrack_runner.page_ranges import PAGE_BYTES, read_ranges

#: Copies pages as a write to each of them would, without a change of their content. Since Linux 5.14.
MADV_POPULATE_WRITE: Final = 23


def write_pages(text: str) -> None:
    """Copies these pages. Must run before the child is confined, because the jail denies this advice.

    Pages that are not mapped are left out, and a kernel without this advice copies none.
    """
    for first, count in read_ranges(text):
        with suppress(OSError):
            syscall("madvise", first * PAGE_BYTES, count * PAGE_BYTES, MADV_POPULATE_WRITE)
