import { expect, test } from '@jest/globals'
import { appendFileSync, linkSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RunningCallsFile } from '../../../../functions/src/hosts/local/running-calls-file.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const faults: string[] = []
const log = { error: (message: string) => void faults.push(message) }
const note = (id: string, length = 0) => ({
  id,
  text: JSON.stringify({ of: id, filled: 'x'.repeat(length) }),
})

function opened() {
  const folder = temporaryFolder()
  const path = join(folder.path, 'running-calls')
  return {
    path,
    open: () => new RunningCallsFile(path, log),
    /** The ids that the next start finds. */
    left: () => new RunningCallsFile(path, log).left.map(({ id }) => id),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  }
}

test('what has begun and not ended is found by the next start, with its text; nobody else reads the file', () => {
  using file = opened()
  const running = file.open()
  for (const id of ['a', 'b', 'c']) running.begin(note(id))
  running.end('b')
  running.begin(note('d'))
  running.end('never begun')
  expect(statSync(file.path).mode & 0o777).toBe(0o600)
  expect(new RunningCallsFile(file.path, log).left).toEqual(['a', 'c', 'd'].map((id) => note(id)))
})

test('a call costs one write: the ends join the beginning after them', () => {
  using file = opened()
  const running = file.open()
  running.begin(note('a'))
  const before = readFileSync(file.path, 'utf8')
  running.end('a')
  expect(readFileSync(file.path, 'utf8')).toBe(before)
  running.begin(note('b'))
  expect(readFileSync(file.path, 'utf8').split('\n')).toHaveLength(3)
  expect(file.left()).toEqual(['b'])
})

test('what an earlier process has left stays until it has ended, also if this process ends too', () => {
  using file = opened()
  file.open().begin(note('a'))
  const second = file.open()
  second.begin(note('b'))
  expect(file.left()).toEqual(['a', 'b'])
  second.end('a')
  second.begin(note('c'))
  expect(file.left()).toEqual(['b', 'c'])
})

test('a line that was cut off, and lines that are none, are left out, and the next lines are whole', () => {
  using file = opened()
  file.open().begin(note('a'))
  for (const cut of ['{"ended":[],"id":"half', 'garbage\n{"ended":7}\n[]\n\0\n"id"\n{"id":7}', '']) {
    appendFileSync(file.path, cut)
    const running = file.open()
    expect(running.left).toEqual([note('a')])
    running.begin(note(`after ${cut.length}`))
    running.end(`after ${cut.length}`)
    running.begin(note('a'))
  }
  expect(file.left()).toEqual(['a'])
})

test('a file of zeros, as a power cut can leave, holds nothing', () => {
  using file = opened()
  writeFileSync(file.path, Buffer.alloc(10_000))
  const running = file.open()
  expect(running.left).toEqual([])
  running.begin(note('a'))
  expect(file.left()).toEqual(['a'])
})

test('the file does not grow without bounds, and keeps what still runs', () => {
  using file = opened()
  const running = file.open()
  running.begin(note('long'))
  let largest = 0
  for (let index = 0; index < 3_000; index += 1) {
    running.begin(note(`call ${index}`, 500))
    running.end(`call ${index}`)
    largest = Math.max(largest, statSync(file.path).size)
  }
  expect(largest).toBeLessThan(300 * 1024)
  expect(file.left().filter((id) => !id.startsWith('call'))).toEqual(['long'])
  expect(file.left().length).toBeLessThanOrEqual(2)
})

test('many that run at once are written again only when there is twice as much', () => {
  using file = opened()
  const running = file.open()
  const ids = Array.from({ length: 2_000 }, (_, index) => `call ${index}`)
  const inodes = new Set<number>()
  for (const id of ids) {
    running.begin(note(id, 1_000))
    inodes.add(statSync(file.path).ino)
  }
  expect(inodes.size).toBeLessThan(8)
  expect(file.left()).toEqual(ids)
})

test('what has ended is overwritten if it is to be forgotten, also in the bytes of the old file', () => {
  using file = opened()
  const running = file.open()
  running.begin(note('ended and secret'))
  running.end('ended and secret')
  running.begin(note('still here'))
  linkSync(file.path, `${file.path}.old`)
  running.forgetEnded()
  expect(readFileSync(file.path, 'utf8')).not.toContain('ended and secret')
  expect(readFileSync(`${file.path}.old`, 'utf8')).not.toContain('ended and secret')
  expect(file.left()).toEqual(['still here'])
  running.begin(note('next'))
  expect(file.left()).toEqual(['still here', 'next'])
})

test('an orderly end leaves only what still runs', () => {
  using file = opened()
  const running = file.open()
  running.begin(note('a'))
  running.begin(note('b'))
  running.end('a')
  running.close()
  expect(file.left()).toEqual(['b'])
  const second = file.open()
  second.end('b')
  second.close()
  expect(readFileSync(file.path, 'utf8')).toBe('')
  expect(faults).toEqual([])
})
