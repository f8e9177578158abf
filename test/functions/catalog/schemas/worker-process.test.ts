import { expect, test } from '@jest/globals'
import { existsSync } from 'node:fs'
import { ADMITTED, pidOf, working } from '../../../support/schema-workers/working.ts'

const OUT_OF_MEMORY = { fault: 'within 96 MB of memory' }

test('a question that meets a process that was just killed is answered by another process', async () => {
  await using it = working()
  const pid = await pidOf(it)
  process.kill(pid, 'SIGKILL')
  const other = await pidOf(it)
  expect(other).toBeGreaterThan(0)
  expect(other).not.toBe(pid)
})

test('a question whose process is killed at work is asked again and answered', async () => {
  await using it = working()
  expect(await it.ask(`die-once ${it.at('died')}`)).toEqual(ADMITTED)
  expect(existsSync(it.at('died'))).toBe(true)
})

test('a question whose process is killed twice is refused, and the next is answered', async () => {
  await using it = working()
  expect(await it.ask(`count-and-die ${it.at('asked')}`)).toEqual(OUT_OF_MEMORY)
  expect(it.count('asked')).toBe(2)
  expect(await it.ask('')).toEqual(ADMITTED)
})

test('a question that fills the heap is not asked again', async () => {
  await using it = working()
  expect(await it.ask(`count-and-fill ${it.at('asked')}`)).toEqual(OUT_OF_MEMORY)
  expect(it.count('asked')).toBe(1)
})

test('a question that is too late is not asked again', async () => {
  await using it = working({ deadlineMs: 2_000 })
  expect(await it.ask(`mark-and-hang ${it.at('asked')}`)).toEqual({ fault: 'within 2000 ms' })
})

test('a process that was killed while it started is started again', async () => {
  await using it = working({}, "if (isFirst) process.kill(process.pid, 'SIGKILL')")
  expect(await it.ask('')).toEqual(ADMITTED)
  expect(it.count('starts')).toBe(2)
})

test('a process that hangs while it starts is killed and started again', async () => {
  await using it = working({ startMs: 4_000 }, 'if (isFirst) for (;;);')
  expect(await it.ask('')).toEqual(ADMITTED)
  expect(it.count('starts')).toBe(2)
})
