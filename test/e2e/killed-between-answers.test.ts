import { expect, test } from '@jest/globals'
import type { InvocationResult, JsonObject } from '@toolrack/contract'
import { fileURLToPath } from 'node:url'
import { invoked } from '../support/invocation.ts'
import { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const KILL = fileURLToPath(new URL('../support/kill-at-answer.ts', import.meta.url))
const CALLS = 40

async function json(server: Server, path: string): Promise<JsonObject> {
  return (await (await server.fetch(`/workflows/${path}`)).json()) as JsonObject
}

test.each(['on', 'required'])(
  'audit %s: a service that is killed between the answers of calls that end together has recorded and kept all that it answered',
  async (mode) => {
    using folder = temporaryFolder()
    const data = folder.path
    const started = { data, env: { TOOLRACK_AUDIT: mode } }
    const answered: string[] = []
    for (const KILL_AT_ANSWER of ['1', '13', '25']) {
      const env = { ...started.env, NODE_OPTIONS: `--import=${KILL}`, KILL_AT_ANSWER }
      await using server = await Server.start({ data, env })
      const calls = Array.from({ length: CALLS }, () => invoked(server, 'ECHO', { text: 'Hello' }))
      const results = await Promise.allSettled(calls)
      expect((await server.ended()).signal).toBe('SIGKILL')
      const whole = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
      expect(whole).toHaveLength(Number(KILL_AT_ANSWER))
      answered.push(...whole.map(([, { meta }]: readonly [number, InvocationResult]) => meta.invocationId))
    }
    await using server = await Server.start(started)
    const { records } = await json(server, 'audit?limit=1000')
    const ended = (records as readonly JsonObject[]).filter(({ phase }) => phase === 'end')
    const ids = ended.map(({ invocationId }) => invocationId as string)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toEqual(expect.arrayContaining(answered))
    expect(await json(server, 'audit/verify')).toMatchObject({ ok: true, fault: null })
    for (const id of answered)
      expect(await json(server, `tools/invocations/${id}`)).toMatchObject({ invocationId: id, tool: 'ECHO' })
  },
)
