import { expect, test } from '@jest/globals'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'

const PARENT_PIPE = new URL('../../../../functions/src/hosts/local/parent-pipe.ts', import.meta.url).href

/** A program that waits on its parent pipe and says so when it is closed. */
function waiting(argument: string) {
  const source = `
    import { watchParent } from ${JSON.stringify(PARENT_PIPE)}
    watchParent([${JSON.stringify(argument)}], () => process.stdout.write('closed', () => process.exit(0)))
    process.stdout.write('ready ')`
  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', source]
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit', 'pipe'] })
  const [, output, , parentPipe] = child.stdio as unknown as [Writable, Readable, null, Writable]
  let said = ''
  output.setEncoding('utf8').on('data', (text: string) => (said += text))
  return { child, output, parentPipe, said: () => said, closed: once(child, 'close') }
}

test('the callback comes when the other end of the pipe closes', async () => {
  const { child, output, parentPipe, said, closed } = waiting('--parent-pipe=3')
  await once(output, 'data')
  parentPipe.destroy()
  await closed
  expect([said(), child.exitCode]).toEqual(['ready closed', 0])
})

test('what is written into the pipe does not count as its end', async () => {
  const { child, output, parentPipe, said, closed } = waiting('--parent-pipe=3')
  await once(output, 'data')
  parentPipe.write('still here')
  parentPipe.end()
  await closed
  expect([said(), child.exitCode]).toEqual(['ready closed', 0])
})

test('without the argument nothing is watched: the program ends by itself', async () => {
  for (const argument of ['', '--parent-pipe', '--parent-pipe=x', 'parent-pipe=3']) {
    const { child, said, closed } = waiting(argument)
    await closed
    expect([argument, said(), child.exitCode]).toEqual([argument, 'ready ', 0])
  }
})

test('a descriptor that is not open counts as closed', async () => {
  const { child, said, closed } = waiting('--parent-pipe=99')
  await closed
  expect([said(), child.exitCode]).toEqual(['ready closed', 0])
})
