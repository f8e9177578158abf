"""The processes of a runner, as the kernel lists them."""

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Process:
    """One that is no zombie."""

    pid: int
    parent: int
    session: int


def processes() -> list[Process]:
    """Every one there is."""
    found: list[Process] = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat") as file:
                state, parent, _, session, *_ = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if state != "Z":
            found.append(Process(int(name), int(parent), int(session)))
    return found


def below(pid: int) -> list[Process]:
    """Every process below one."""
    everything = processes()
    found: list[Process] = []
    level = {pid}
    while level:
        children = [process for process in everything if process.parent in level]
        found += children
        level = {process.pid for process in children}
    return found


def descendants_of(runner: int) -> set[int]:
    """The pids of all descendants of a runner."""
    return {process.pid for process in below(runner)}


def children_of(runner: int) -> set[int]:
    """The children that run tools or wait for a call. Each leads its own session."""
    return {process.pid for process in below(runner) if process.session == process.pid}


def zygotes_of(runner: int) -> set[int]:
    """What the children are forked from."""
    return descendants_of(runner) - children_of(runner)
