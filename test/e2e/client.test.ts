import { afterAll, beforeAll, expect } from '@jest/globals'
import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { InstalledClient } from '../support/installed-client.ts'
import { serverWithRunner, uploaded } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import { WEATHER } from '../support/weather-module.ts'

let client: InstalledClient
beforeAll(async () => (client = await InstalledClient.make()))
afterAll(() => client[Symbol.dispose]())

/** Each line that comes on the standard input is a list. */
const TEN_LINES = `import { createInterface } from 'node:readline'
import { ToolDefs, ToolDispatcher } from '@toolrack/client'
const connection = { service: process.env.TOOLRACK_URL, token: process.env.TOOLRACK_TOKEN }
const defs = new ToolDefs({ ...connection, deadlineMs: 30_000 })
const runners = [{ name: 'READ_FILE', run: ({ filepath }) => 'what ' + filepath + ' holds' }]
const dispatcher = new ToolDispatcher({ ...connection, runners })
const call = (id, name, input) => ({ type: 'tool_use', id, name, input })
const calls = [call('a', 'weather__get', { location: 'Bern' }), call('b', 'READ_FILE', { filepath: 'x' })]
const { messages } = await dispatcher.dispatch(calls)
console.log(JSON.stringify(messages[0].content.map(({ content }) => content)))
for await (const names of createInterface({ input: process.stdin })) {
  const { source, reason, tools } = await defs.list({ names })
  console.log(JSON.stringify([source, reason?.code ?? null, tools.map((tool) => tool.function.name)]))
}
`

withPython(
  'an empty project lists, runs a Python tool at the service and a Runner of its own, and goes on listing when the service is killed',
  async () => {
    await using server = await serverWithRunner()
    await uploaded(server, 'weather', WEATHER)
    const env = { ...process.env, TOOLRACK_URL: server.url, TOOLRACK_TOKEN: server.token }
    const child = spawn(process.execPath, [client.write('ten-lines.mjs', TEN_LINES)], { env })
    const read = lines(child)
    const list = async (names: string): Promise<unknown> => {
      child.stdin.write(`${names}\n`)
      return read()
    }
    expect(await read()).toEqual(['Bern: cloudy for 1 day(s)', 'what x holds'])
    expect(await list('weather:get,ECHO')).toEqual(['service', null, ['weather:get', 'ECHO']])
    await server.kill9()
    for (let count = 0; count < 3; count += 1)
      expect(await list('weather:get,ECHO')).toEqual(['remembered', 'NETWORK', ['weather:get', 'ECHO']])
    expect(await list('weather:get,READ_FILE')).toEqual(['local', 'NETWORK', ['READ_FILE']])
    child.stdin.end()
    const [code] = (await once(child, 'close')) as [number]
    expect(code).toBe(0)
  },
)

/** The lines that a program prints, each as the JSON that it is. */
function lines(child: ChildProcessWithoutNullStreams): () => Promise<unknown> {
  const printed = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  let said = ''
  child.stderr.on('data', (chunk) => (said += String(chunk)))
  return async () => {
    const { value, done } = await printed.next()
    if (done) throw new Error(`it ended and said: ${said}`)
    return JSON.parse(value) as unknown
  }
}
