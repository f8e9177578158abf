"""What main keeps of what children tell of their modules is bounded and of the shape it must have."""

import asyncio
import os
from collections.abc import Callable
from typing import Any

import pytest

from toolrack_runner.base_folder import choose_base
from toolrack_runner.jail.readable import needed_paths, readable_paths
from toolrack_runner.pool.pool import CODE_BYTES_MAX, Key, Pool, Shelf
from toolrack_runner.zygote.messages import Limits, Opening


def with_pool(work: Callable[[Pool], Any]) -> Any:
    async def run() -> Any:
        opening = Opening((), choose_base(), readable_paths(), (), needed_paths())
        pool = Pool(opening, frozenset(), bytes_max=1 << 20)
        try:
            return work(pool)
        finally:
            pool.close()

    return asyncio.run(run())


def key_of(number: int) -> Key:
    return Key("tenant", f"m{number}", os.urandom(32).hex(), Limits())


@pytest.mark.parametrize(
    ("told", "is_taken"),
    [
        ({"m:a": 0, "m:b": 49}, True),
        ({}, True),
        ({"m:a": -1}, False),
        ({"m:a": 50}, False),
        ({"m:a": True}, False),
        ({"m:a": "0"}, False),
        ({"m" * 129: 0}, False),
        ({f"m:{number}": 0 for number in range(51)}, False),
        (["m:a"], False),
        (None, False),
    ],
)
def test_places_of_another_shape_are_not_taken(told: object, is_taken: bool) -> None:
    def learn(pool: Pool) -> bool:
        key = key_of(0)
        shelf = pool._shelf(key, "")
        pool.learn_places(key, told)
        return shelf.places is not None

    assert with_pool(learn) is is_taken


def test_of_too_much_code_that_of_the_modules_called_longest_ago_goes() -> None:
    half = "x" * (CODE_BYTES_MAX // 2)

    def learn(pool: Pool) -> list[bool]:
        shelves: list[Shelf] = []
        for number in range(3):
            key = key_of(number)
            shelves.append(pool._shelf(key, ""))
            pool.learn(key, [], half)
        return [shelf.code is not None for shelf in shelves]

    assert with_pool(learn) == [False, True, True]
