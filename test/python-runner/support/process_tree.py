"""The processes of a runner, as the kernel lists them."""

import os


def parents() -> dict[int, int]:
    """The parent of every process that is no zombie."""
    found: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                state, parent, *_ = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if state != "Z":
            found[int(name)] = int(parent)
    return found


def descendants_of(pid: int) -> set[int]:
    """Every process below one, zombies aside."""
    tree = parents()
    found: set[int] = set()
    level = {pid}
    while level:
        level = {child for child, parent in tree.items() if parent in level}
        found |= level
    return found


def zygotes_of(runner: int) -> set[int]:
    """The processes that forked others, and were not forked by a zygote themselves."""
    tree = parents()
    return {tree[child] for child in children_of(runner)}


def children_of(runner: int) -> set[int]:
    """The processes that have none below them: what runs tools, or waits to."""
    tree = parents()
    return {pid for pid in descendants_of(runner) if pid not in tree.values()}
