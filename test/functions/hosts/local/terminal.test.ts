import { afterAll, expect, test } from '@jest/globals'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, openSync, readFileSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { Terminal } from '../../../../functions/src/hosts/local/terminal.ts'
import { PYTHON, withPython } from '../../../support/runner-environment.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { testWhere } from '../../../support/test-where.ts'
import { until } from '../../../support/until.ts'

const folder = temporaryFolder()
afterAll(() => folder[Symbol.dispose]())

const hasFifo = spawnSync('mkfifo', [join(folder.path, 'probe')]).status === 0
const withFifo = testWhere(hasFifo, 'mkfifo is missing: a pipe that nobody reads can not be tried.')

/** A terminal that takes 64 KB and then nothing, until `read` is called. */
function stopped(name: string) {
  const path = join(folder.path, name)
  spawnSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
  const chunk = Buffer.alloc(64 * 1024)
  let seen = ''
  return {
    terminal: new Terminal({ fd, columns: 80 }),
    /** Everything that has been written so far. */
    read: (): Promise<string> => {
      try {
        seen += chunk.toString('utf8', 0, readSync(reader, chunk))
      } catch (error) {
        expect(error).toMatchObject({ code: 'EAGAIN' })
      }
      return Promise.resolve(seen)
    },
    [Symbol.dispose]() {
      closeSync(reader)
      closeSync(fd)
    },
  }
}

const line = (number: number): string => `call ${String(number).padStart(8, '0')}\n`

withFifo('what fits is written at once, in its order', async () => {
  using pipe = stopped('order')
  pipe.terminal.write('one\n')
  expect(await pipe.read()).toBe('one\n')
  pipe.terminal.writeCall('two\n')
  pipe.terminal.write('three\n')
  expect(await pipe.read()).toBe('one\ntwo\nthree\n')
})

withFifo(
  'beyond what may wait, calls are counted, lines of the log are kept, and nothing waits',
  async () => {
    using pipe = stopped('slow')
    const calls = 100_000
    for (let number = 0; number < calls; number += 1) pipe.terminal.writeCall(line(number))
    pipe.terminal.write('warn  a line of the log\n')
    const text = await until(pipe.read, (seen) => seen.includes(' more entries;'))
    const numbers = Array.from(text.matchAll(/^call (\d{8})$/gm), ([, number]) => Number(number))
    expect(numbers).toEqual(numbers.map((_, index) => index))
    // The pipe took 64 KB, and 256 KB could wait.
    expect(numbers.length * line(0).length).toBeGreaterThan(256 * 1024)
    expect(text).toContain('warn  a line of the log\n')
    expect(text).toContain(
      `      … ${calls - numbers.length} more entries; this terminal was too slow to show them\n`,
    )
    pipe.terminal.writeCall('again\n')
    expect(await until(pipe.read, (seen) => seen.includes('again'))).toMatch(/ more entries;.*\nagain\n$/)
  },
)

withFifo('a pipe that nobody reads any more is no failure', async () => {
  using pipe = stopped('closed')
  const gone = openSync(join(folder.path, 'closed'), constants.O_WRONLY | constants.O_NONBLOCK)
  closeSync(gone)
  const terminal = new Terminal({ fd: gone, columns: 80 })
  terminal.write('lost\n')
  terminal.writeCall('lost\n')
  expect(await pipe.read()).toBe('')
})

test('a file gets every line', () => {
  const path = join(folder.path, 'file')
  const fd = openSync(path, 'w')
  const terminal = new Terminal({ fd, columns: 0 })
  expect(terminal.columns).toBe(80)
  terminal.write('warn  one\n')
  expect(readFileSync(path, 'utf8')).toBe('warn  one\n')
  closeSync(fd)
})

const TERMINAL = new URL('../../../../functions/src/hosts/local/terminal.ts', import.meta.url).href

/** A program that shows more calls than a pipe or a terminal takes, on its standard error, and then ends. */
const SHOWS_MUCH = `
  const { Terminal } = await import(${JSON.stringify(TERMINAL)})
  const terminal = new Terminal(process.stderr)
  for (let number = 0; number < 100_000; number += 1) terminal.writeCall(\`call \${String(number).padStart(8, '0')}\\n\`)
  setImmediate(() => process.exit(3))
`

/** The exit code of this program, which is started by a command. A program that still runs after 30 seconds has none. */
async function exitCode(...through: readonly string[]): Promise<number | null> {
  const [command, ...args] = [...through, process.execPath, '--input-type=module', '--eval', SHOWS_MUCH]
  const program = spawn(command, args, { stdio: 'ignore', timeout: 30_000 })
  await once(program, 'exit')
  return program.exitCode
}

withFifo('a program and its end do not wait for a pipe that nobody reads', async () => {
  const path = join(folder.path, 'unread')
  spawnSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  expect(await exitCode('sh', '-c', 'exec "$@" 2>"$0"', path)).toBe(3)
  const taken = Buffer.alloc(128 * 1024)
  const text = taken.toString('utf8', 0, readSync(reader, taken))
  closeSync(reader)
  expect(text.length).toBeGreaterThan(60_000)
  expect(text).toMatch(/^call 00000000\ncall 00000001\n/)
})

/** Starts a program whose standard error is a terminal that nobody reads. The program itself has the other end of the terminal. */
const STOPPED_TERMINAL = `
import os, pty, sys
ours, theirs = pty.openpty()
os.set_inheritable(ours, True)
os.dup2(theirs, 2)
os.execvp(sys.argv[1], sys.argv[1:])
`

withPython('a program and its end do not wait for a terminal that is stopped', async () => {
  expect(await exitCode(PYTHON, '-c', STOPPED_TERMINAL)).toBe(3)
})
