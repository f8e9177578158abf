import { afterAll, expect } from '@jest/globals'
import { existsSync } from 'node:fs'
import { serverWithRunner, uploaded } from '../support/modules.ts'
import { PYTHON, withPython } from '../support/runner-environment.ts'
import { Server } from '../support/server.ts'

/** Processes that serve several calls, from the spec of a tool to the answer to its call. */

const server = await (existsSync(PYTHON) ? serverWithRunner() : Server.start())
afterAll(() => server[Symbol.asyncDispose]())

/** A module whose tool tells which process has answered. The process knows a number that no other has. */
const source = (name: string, spec: string) => `
import uuid

PROCESS = str(uuid.uuid4())


def which():
    return {"process": PROCESS}


TOOL_SPECS = [{"name": "${name}:which", "description": "Tells its process.", "handler": which, ${spec}}]
`

type Answer = { readonly data: { readonly process: string }; readonly meta: { readonly reused?: number } }

async function which(on: Server, name: string, query = ''): Promise<Answer> {
  const body = JSON.stringify({ name: `${name}:which`, arguments: {} })
  const answer = await on.fetch(`/workflows/tools/invoke${query}`, { method: 'POST', body })
  return (await answer.json()) as Answer
}

withPython(
  'a spec with reuse lets one process serve the next call of a user, and the answer tells it',
  async () => {
    await uploaded(server, 'again', source('again', '"reuse": True'))
    const definition = (await (await server.fetch('/workflows/tools/defs/again:which')).json()) as object
    expect(definition).toMatchObject({ definition: { runner: { reuse: 100 } } })
    const first = await which(server, 'again')
    expect(first.meta).not.toHaveProperty('reused')
    const later = [await which(server, 'again'), await which(server, 'again')]
    expect(later.map(({ data, meta }) => [data.process, meta.reused])).toEqual([
      [first.data.process, 1],
      [first.data.process, 2],
    ])
  },
)

withPython('a process serves as many calls as the spec says, and no more', async () => {
  await uploaded(server, 'twice', source('twice', '"reuse": 2'))
  const answers: Answer[] = []
  for (let each = 0; each < 6; each += 1) answers.push(await which(server, 'twice'))
  expect(answers.map(({ meta }) => meta.reused)).toEqual([undefined, 1, undefined, 1, undefined, 1])
  expect(new Set(answers.map(({ data }) => data.process)).size).toBe(3)
})

withPython('without reuse in its spec, no process serves two calls', async () => {
  await uploaded(server, 'once', source('once', '"reuse": 1'))
  const answers = [await which(server, 'once'), await which(server, 'once'), await which(server, 'once')]
  expect(new Set(answers.map(({ data }) => data.process)).size).toBe(3)
})

withPython('no process serves two sessions, nor a session and calls without one', async () => {
  await uploaded(server, 'apart', source('apart', '"reuse": True'))
  for (const id of ['apart-a', 'apart-b']) {
    const body = JSON.stringify({ selection: 'all' })
    expect((await server.fetch(`/workflows/sessions/${id}`, { method: 'PUT', body })).status).toBe(201)
  }
  const seen = new Map<string, Set<string>>()
  for (let round = 0; round < 3; round += 1)
    for (const query of ['', '?session=apart-a', '?session=apart-b']) {
      const { data } = await which(server, 'apart', query)
      seen.set(query, (seen.get(query) ?? new Set()).add(data.process))
    }
  const all = [...seen.values()].flatMap((processes) => [...processes])
  expect(new Set(all).size).toBe(all.length)
  expect(all).toHaveLength(3)
})

withPython('an operator switches it off', async () => {
  await using strict = await serverWithRunner({ env: { TOOLRACK_REUSE: 'off' } })
  await uploaded(strict, 'again', source('again', '"reuse": True'))
  const answers = [await which(strict, 'again'), await which(strict, 'again'), await which(strict, 'again')]
  expect(new Set(answers.map(({ data }) => data.process)).size).toBe(3)
  expect(answers.filter(({ meta }) => 'reused' in meta)).toEqual([])
})

withPython('a call that gets secrets has a process of its own', async () => {
  await using accepting = await serverWithRunner({ env: { TOOLRACK_GRANTS: 'accept' } })
  await uploaded(accepting, 'keyed', source('keyed', '"reuse": True, "secrets": ["REUSE_KEY"]'))
  const stored = await accepting.fetch('/workflows/secrets/REUSE_KEY', {
    method: 'PUT',
    body: JSON.stringify({ value: 'a secret of eighteen' }),
    headers: accepting.approver,
  })
  expect(stored.status).toBe(204)
  const answers: Answer[] = []
  for (let each = 0; each < 3; each += 1) answers.push(await which(accepting, 'keyed'))
  expect(answers.filter(({ meta }) => 'reused' in meta)).toEqual([])
  expect(new Set(answers.map(({ data }) => data.process)).size).toBe(3)
})
