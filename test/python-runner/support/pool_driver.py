"""Runs a pool: reads an order in each line of standard input, and writes its answer."""

import asyncio
import hashlib
import json
import os
import sys
import time
from typing import Any

sys.path.insert(0, sys.argv[1])

from toolrack_runner.server.base_folder import choose_base, remove_base
from toolrack_runner.server.packages.environment import Environment
from toolrack_runner.server.pool.call import Call, run_call
from toolrack_runner.server.pool.check import run_check
from toolrack_runner.server.pool.children import PoolError
from toolrack_runner.server.pool.parking import PARKED_SECONDS
from toolrack_runner.server.pool.pool import Pool
from toolrack_runner.server.pool.warm_queue import Key
from toolrack_runner.server.pool.worker import Worker
from toolrack_runner.server.pool.zygotes import installed_packages
from toolrack_runner.server.readable import installed_paths, needed_paths, readable_paths
from toolrack_runner.wire.zygote_messages import Limits, Opening

TENANT = "test"


def environment_of(order: dict[str, Any]) -> Environment | None:
    given = order["environment"]
    return None if given is None else Environment(**given | {"modules": frozenset(given["modules"])})


async def call(pool: Pool, order: dict[str, Any]) -> dict[str, Any]:
    environment, source = environment_of(order), order["source"]
    digest = "" if environment is None else environment.digest
    sha256 = hashlib.sha256(source.encode()).hexdigest()
    reuse = order["reuse"]
    session = "" if reuse > 1 else None
    module = order["tool"].partition(":")[0]
    key = Key(TENANT, module, sha256, Limits(), environment=digest, reuse=reuse, session=session)
    asked = Call(key, order["tool"], order["arguments"], {}, 60.0, "test", environment=environment)
    began = time.perf_counter()
    outcome = await run_call(pool, asked, source)
    seconds = time.perf_counter() - began
    if order["refill"]:
        await pool.refill(key)
        while (queue := pool._queues.find(key.fresh)) is not None and queue.coming:  # noqa: ASYNC110 - nobody tells
            await asyncio.sleep(0.01)
    value = None if outcome.value is None else json.loads(outcome.value)
    told = {"code": outcome.code, "error": outcome.error, "text": outcome.text, "value": value}
    return told | {"log": outcome.observed.log, "seconds": seconds, "served": outcome.observed.served}


async def age(pool: Pool) -> dict[str, Any]:
    """Makes all parked children as old as if no call had come for a minute. Waits until they have ended."""

    def parked() -> list[Worker]:
        return [worker for worker, queue, _ in pool._queues._places.values() if queue.key.session is not None]

    while not parked():  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.01)
    count = len(parked())
    for worker in parked():
        assert worker.parked_until is not None
        assert 50 < worker.parked_until - asyncio.get_running_loop().time() <= PARKED_SECONDS
        worker.parked_until -= PARKED_SECONDS + 1
    while parked():  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.01)
    return {"ended": count}


async def check(pool: Pool, order: dict[str, Any]) -> dict[str, Any]:
    source = order["source"].encode()
    environment = environment_of(order)
    checked = await run_check(
        pool, order["name"], source, tenant=TENANT, seconds=60.0, environment=environment
    )
    return {**checked.report, "log": checked.observed.log}


async def answer(pool: Pool, order: dict[str, Any]) -> dict[str, Any]:
    try:
        match order["do"]:
            case "call":
                return await call(pool, order)
            case "check":
                return await check(pool, order)
            case "age":
                return await age(pool)
            case "in_use":
                return {"digests": sorted(pool.environments_in_use())}
            case _:
                return {"missing": (await pool.zygotes.plain_ready()).missing}
    except PoolError as error:
        return {"error": str(error), "kind": type(error).__name__}


async def main() -> None:
    base = choose_base()
    opening = Opening(
        preload=(),
        base=base,
        read_only=readable_paths(),
        without=tuple(each.removeprefix("--without=") for each in sys.argv[3:]),
        needed=needed_paths(),
        packages=sys.argv[2],
        installed=installed_paths(),
        prefix=sys.prefix,
    )
    pool = Pool(opening, installed_packages(), bytes_max=256 << 20)
    await pool.zygotes.plain_ready()
    while line := await asyncio.to_thread(sys.stdin.readline):
        print(json.dumps(await answer(pool, json.loads(line))), flush=True)  # noqa: T201 - the answer
    pool.close()
    remove_base(base)
    os._exit(0)


asyncio.run(main())
