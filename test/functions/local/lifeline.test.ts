import { expect, test } from '@jest/globals'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'

const LIFELINE = new URL('../../../functions/src/local/lifeline.ts', import.meta.url).href

/** A program that waits on its lifeline and says so when it is cut. */
function waiting(argument: string) {
  const source = `
    import { onLifelineCut } from ${JSON.stringify(LIFELINE)}
    onLifelineCut([${JSON.stringify(argument)}], () => process.stdout.write('cut', () => process.exit(0)))
    process.stdout.write('ready ')`
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', source]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit', 'pipe'] })
  const [, output, , lifeline] = child.stdio as unknown as [Writable, Readable, null, Writable]
  let said = ''
  output.setEncoding('utf8').on('data', (text: string) => (said += text))
  return { child, output, lifeline, said: () => said, closed: once(child, 'close') }
}

test('the callback comes when the other end of the pipe closes', async () => {
  const { child, output, lifeline, said, closed } = waiting('--lifeline=3')
  await once(output, 'data')
  lifeline.destroy()
  await closed
  expect([said(), child.exitCode]).toEqual(['ready cut', 0])
})

test('what is written into the pipe is not a cut', async () => {
  const { child, output, lifeline, said, closed } = waiting('--lifeline=3')
  await once(output, 'data')
  lifeline.write('still here')
  lifeline.end()
  await closed
  expect([said(), child.exitCode]).toEqual(['ready cut', 0])
})

test('without the argument nothing is watched: the program ends by itself', async () => {
  for (const argument of ['', '--lifeline', '--lifeline=x', 'lifeline=3']) {
    const { child, said, closed } = waiting(argument)
    await closed
    expect([argument, said(), child.exitCode]).toEqual([argument, 'ready ', 0])
  }
})

test('a descriptor that is not open counts as cut', async () => {
  const { child, said, closed } = waiting('--lifeline=99')
  await closed
  expect([said(), child.exitCode]).toEqual(['ready cut', 0])
})
