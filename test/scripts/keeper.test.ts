import { expect, test } from '@jest/globals'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { marker, pidsIn, processesWith } from '../../scripts/toolchain/kept-processes.mjs'
import { until } from './support/until.ts'

const KEEPER = fileURLToPath(new URL('../../scripts/toolchain/keeper.mjs', import.meta.url))
const RUNAWAY = fileURLToPath(new URL('fixtures/runaway.mjs', import.meta.url))
const limitMs = 30_000

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
  expect(left()).toHaveLength(3)
  return { keeper, left }
}

test('a process is found in the output of ps by its whole setting: /x/toolrack is not /x/toolrack-2', () => {
  const listing = [
    '  101 node start.mjs HOME=/root SERVES_CHECKOUT=/x/toolrack TERM=xterm',
    ' 1020 node start.mjs SERVES_CHECKOUT=/x/toolrack',
    '  103 node start.mjs SERVES_CHECKOUT=/x/toolrack-2 TERM=xterm',
    '  104 node start.mjs ALSO_SERVES_CHECKOUT=/x/toolrack TERM=xterm',
    '',
  ]
  expect(pidsIn(listing.join('\n'), 'SERVES_CHECKOUT=/x/toolrack')).toEqual([101, 1020])
})

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
