import { expect, test } from '@jest/globals'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { marker, pidsOfLines, processesWith } from '../../scripts/toolchain/kept-processes.mjs'
import { until } from './support/until.ts'

const KEEPER = fileURLToPath(new URL('../../scripts/toolchain/keeper.mjs', import.meta.url))
const RUNAWAY = fileURLToPath(new URL('fixtures/runaway.mjs', import.meta.url))
const limitMs = 60_000

/** A keeper of a program that has started another program in a new session. */
async function keep(...args: string[]): Promise<{ keeper: ChildProcess; left: () => number[] }> {
  const mark = randomUUID()
  const keeper = spawn(process.execPath, [KEEPER, process.execPath, RUNAWAY, ...args], {
    env: { ...process.env, [marker]: mark },
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
    detached: true,
  })
  keeper.stdio[3]?.on('error', () => undefined)
  await once(keeper.stdout ?? keeper, 'data')
  const left = (): number[] => processesWith(`${marker}=${mark}`)
  await until(() => left().length >= 3)
  expect(left()).toHaveLength(3)
  return { keeper, left }
}

test(
  'SIGTERM ends what is kept, whatever session it is in',
  async () => {
    const { keeper, left } = await keep()
    keeper.kill('SIGTERM')
    await once(keeper, 'exit')
    await until(() => left().length === 0)
    expect(left()).toEqual([])
  },
  limitMs,
)

test(
  'the end of who started it does too, however that came',
  async () => {
    const { keeper, left } = await keep()
    keeper.stdio[3]?.destroy()
    await once(keeper, 'exit')
    await until(() => left().length === 0)
    expect(left()).toEqual([])
  },
  limitMs,
)

test(
  'a program that ends by itself takes what it has started with it',
  async () => {
    const { keeper, left } = await keep('--deaf')
    const program = left().find((pid) => pid !== keeper.pid)
    process.kill(program ?? 0, 'SIGKILL')
    await once(keeper, 'exit')
    await until(() => left().length === 0)
    expect(left()).toEqual([])
  },
  limitMs,
)

test('a process of ps has the whole setting, not one that only begins like it', () => {
  const text = `  17 node a.mjs HOME=/x SERVES_CHECKOUT=/x/toolrack LANG=C
  18 node a.mjs SERVES_CHECKOUT=/x/toolrack-2 LANG=C
  19 node a.mjs HOME=/x SERVES_CHECKOUT=/x/toolrack
  20 node a.mjs OLD_SERVES_CHECKOUT=/x/toolrack LANG=C
`
  expect(pidsOfLines(text, 'SERVES_CHECKOUT=/x/toolrack')).toEqual([17, 19])
})
