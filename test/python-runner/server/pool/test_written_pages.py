"""What a call writes is learned from the kernel, and the next children of the module copy it before their call."""

import ctypes
import json
import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from support.live_runner import live_runner
from support.process_tree import children_of
from support.until import until
from toolrack_runner.child.write_pages import write_pages
from toolrack_runner.page_ranges import PAGE_BYTES, pages_text
from toolrack_runner.server.pool import written_pages as module
from toolrack_runner.server.pool.pool import BLANKS
from toolrack_runner.server.pool.written_pages import PAGES_MAX, TOOLS_MAX, WrittenPages, written_pages

PAGES = 64


@contextmanager
def forked(act: Callable[[], object]) -> Iterator[tuple[int, object]]:
    """A child that has done something and waits, and what it told."""
    told, tells = os.pipe()
    ends, ended = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(tells, json.dumps(act()).encode())
            os.close(ended)
            os.read(ends, 1)
        finally:
            os._exit(0)
    os.close(tells)
    os.close(ends)
    try:
        yield pid, json.loads(os.read(told, 1 << 16))
    finally:
        os.close(ended)
        os.close(told)
        os.waitpid(pid, 0)


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Iterator[mmap.mmap]:
    """Private memory of this process, each page with its number."""
    # The process of the tests may have more memory and mappings than a child.
    monkeypatch.setattr(module, "MAPPINGS_MAX", 1 << 20)
    monkeypatch.setattr(module, "SEARCHED_BYTES_MAX", 1 << 40)
    with mmap.mmap(-1, PAGES * PAGE_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as made:
        # Huge pages would be copied in pieces of another size.
        made.madvise(mmap.MADV_NOHUGEPAGE)
        for page in range(PAGES):
            made[page * PAGE_BYTES] = page
        yield made


def first_page(memory: mmap.mmap) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory)) // PAGE_BYTES


def test_exactly_the_pages_that_a_child_has_written_are_found(memory: mmap.mmap) -> None:
    def write() -> None:
        for page in (3, 4, 50):
            memory[page * PAGE_BYTES + 7] = 1

    first = first_page(memory)
    with forked(write) as (pid, _):
        found = written_pages(pid)
    assert {page - first for page in found if first <= page < first + PAGES} == {3, 4, 50}


def test_a_child_copies_the_pages_that_it_is_told_and_keeps_their_content(memory: mmap.mmap) -> None:
    first = first_page(memory)
    # The last two are not mapped: an address of the kernel, and page 0.
    told = pages_text([first + 5, *range(first + 20, first + 30), (1 << 47) // PAGE_BYTES + 9, 0])

    def copy() -> list[int]:
        write_pages(told)
        return [memory[page * PAGE_BYTES] for page in range(PAGES)]

    with forked(copy) as (pid, content):
        found = written_pages(pid)
    assert content == list(range(PAGES))
    assert {page - first for page in found if first <= page < first + PAGES} == {5, *range(20, 30)}


def test_of_a_child_with_too_many_mappings_nothing_is_learned(
    memory: mmap.mmap, monkeypatch: pytest.MonkeyPatch
) -> None:
    with forked(lambda: memory.write(b"x")) as (pid, _):
        assert written_pages(pid)
        for bound in ("MAPPINGS_MAX", "SEARCHED_BYTES_MAX"):
            with monkeypatch.context() as lower:
                lower.setattr(module, bound, 1)
                assert written_pages(pid) == frozenset()


def test_nothing_is_learned_of_a_process_that_is_gone() -> None:
    with forked(lambda: None) as (pid, _):
        pass
    assert written_pages(pid) == frozenset()


def test_pages_of_several_tools_are_joined_and_count_only_for_children_of_their_origin() -> None:
    written, zygote, other = WrittenPages(), (object(), 1), (object(), 1)
    assert written.wants(zygote, "a")
    written.learn(zygote, "a", frozenset({1, 2}))
    assert (written.wants(zygote, "a"), written.wants(zygote, "b"), written.wants(other, "a")) == (
        False,
        True,
        True,
    )
    written.learn(zygote, "b", frozenset({9}))
    assert (written.text_for(zygote), written.bytes) == (pages_text([1, 2, 9]), 3 * PAGE_BYTES)
    assert written.text_for(other) == ""
    written.learn(other, "b", frozenset({5}))
    assert (written.text_for(zygote), written.text_for(other)) == ("", pages_text([5]))


def test_pages_above_the_limit_are_left_out_and_so_are_further_tools() -> None:
    written, zygote = WrittenPages(), object()
    written.learn(zygote, "tool 0", frozenset({1}))
    written.learn(zygote, "tool 1", frozenset(range(PAGES_MAX + 1)))
    assert written.text_for(zygote) == pages_text([1])
    for number in range(2, TOOLS_MAX):
        written.learn(zygote, f"tool {number}", frozenset())
    assert not written.wants(zygote, "one more")


#: Its tool writes the reference counts of many objects that it shares with its zygote.
WRITES_MUCH = """
import gc, sys

def run() -> int:
    found, pending = {}, [sys.modules]
    while pending and len(found) < 20_000:
        each = pending.pop()
        if id(each) not in found:
            found[id(each)] = each
            pending += gc.get_referents(each)
    return len(found)

TOOL_SPECS = [{"name": "writes:run", "description": "Runs.", "handler": run}]
"""
#: The fewest pages of a child that has copied what a call writes. As measured, it has 2,430, and other children have 640.
WRITTEN = 1_200
#: After so many calls, the runner knows the module and its pages.
FIRST_CALLS = 6


@pytest.mark.parametrize("as_nobody", [False, True])
def test_a_child_that_waits_has_copied_what_the_calls_before_it_wrote(as_nobody: bool) -> None:
    if as_nobody and os.geteuid() != 0:
        pytest.skip("not root: the runner as started is an ordinary user's already")
    with live_runner(as_nobody=as_nobody) as runner:

        def settled() -> bool:
            """Whether each child waits for a call, of this module or of any."""
            children = runner.health()["children"]
            return bool(children["waiting"] and children["alive"] == children["waiting"] + BLANKS)

        def children_after_a_call() -> set[int]:
            assert runner.invoke(WRITES_MUCH, "writes:run")["outcome"] == "success"
            until(settled, "children that wait")
            return children_of(runner.process.pid)

        # Some of the first children own more pages, because the zygote has written its pages again after their fork.
        first = set().union(*(children_after_a_call() for _ in range(FIRST_CALLS)))
        if as_nobody or os.geteuid() != 0:
            return  # The kernel shows pages to root only. Calls work without what could be learned.

        def most_written() -> int:
            return max((len(written_pages(pid)) for pid in children_after_a_call() - first), default=0)

        until(lambda: most_written() >= WRITTEN, "a child with copied pages")
