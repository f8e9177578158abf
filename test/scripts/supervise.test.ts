import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { EXIT } from '../../functions/src/hosts/local/start-error.ts'
import { crashLoopCode } from '../../scripts/toolchain/supervise.mjs'

const SUPERVISE = new URL('../../scripts/toolchain/supervise.mjs', import.meta.url).href
const SERVICE = fileURLToPath(new URL('fixtures/local.ts', import.meta.url))

/** Runs `supervise` in another process, with its own pauses or with these. `before` and `pausesMs` are source text. */
function supervised(args: readonly string[], pausesMs = 'undefined', before = '') {
  const source = `
    import { supervise } from ${JSON.stringify(SUPERVISE)}
    const end = new AbortController()
    ${before}
    const args = ${JSON.stringify([SERVICE, ...args])}
    process.exitCode = await supervise(process.execPath, args, { signal: end.signal, pausesMs: ${pausesMs} })`
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', source], {
    encoding: 'utf8',
    timeout: 50_000,
  })
  return { code: status, lives: stdout.match(/^ready /gm)?.length ?? 0, said: stderr }
}

test('the exit code of a crash loop has one value', () => {
  expect(crashLoopCode).toBe(EXIT.crashLoop)
})

test('a service that dies after every start is given up in one sentence, with its last end', () => {
  const { code, lives, said } = supervised(['--tell', '--die'], '[1, 1, 1]')
  expect([code, lives]).toEqual([EXIT.crashLoop, 4])
  const again = 'The service was ended by SIGKILL; it is being started again.\n'
  expect(said).toBe(
    `${again.repeat(3)}The service has died 4 times in a row and is not started again; the last time it was ended by SIGKILL. ` +
      'Correct what the lines above name, then run npm start again.\n',
  )
}, 60_000)

test('an exit code of a service that was ready once counts as a death like any other, of which ten in a row end it', () => {
  const { code, lives, said } = supervised(['--tell', '--exit=65'])
  expect([code, lives]).toEqual([EXIT.crashLoop, 10])
  expect(said).toMatch(
    /\nThe service has died 10 times in a row and is not started again; the last time it has ended with exit code 65\. .*\n$/,
  )
}, 60_000)

test('an exit code of a service that was never ready is final', () => {
  const { code, lives, said } = supervised(['--exit=65'], '[1]')
  expect([code, lives, said]).toEqual([65, 1, ''])
}, 60_000)

test('a pause that would never end ends with the signal', () => {
  const whenSaid = `
    const write = process.stderr.write.bind(process.stderr)
    process.stderr.write = (text) => {
      if (text.includes('being started again')) setImmediate(() => end.abort())
      return write(text)
    }`
  const { code, lives } = supervised(['--tell', '--die'], '[2 ** 31 - 1]', whenSaid)
  expect([code, lives]).toEqual([0, 1])
}, 60_000)
