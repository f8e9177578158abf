import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { RequestListener } from 'node:http'
import type { ToolsChanged, WatchOptions } from '../../packages/client/src/index.ts'
import { ScriptedServer } from '../support/scripted-server.ts'
import { listAnswer, listed, namesOf, refusal, silence, toolDefs } from './scripted-service.ts'

let server: ScriptedServer
let ending: AbortController
beforeEach(async () => {
  server = await ScriptedServer.start()
  ending = new AbortController()
})
afterEach(async () => {
  ending.abort()
  await server[Symbol.asyncDispose]()
})

/** An answer with these changes, and then nothing more if `isOpen` is set. */
function events(
  isOpen: boolean,
  ...sent: readonly (readonly [id: string, event: string, data: object])[]
): RequestListener {
  const text = sent.map(
    ([id, event, data]) => `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`,
  )
  return (_req, res) => {
    res.writeHead(200, { 'Content-Type': 'text/event-stream' }).write(`: no change\n\n${text.join('')}`)
    if (!isOpen) res.end()
  }
}

const names = (fields: object = {}): object => ({
  revision: '',
  added: [],
  changed: [],
  removed: [],
  ...fields,
})
const polled = (revision: string, fields: object = {}): RequestListener =>
  listAnswer(names(fields), { 'X-Tools-Revision': revision })
const noChange: RequestListener = (_req, res) => res.writeHead(204, { 'X-Tools-Revision': '3.0.f' }).end()

function fail(): never {
  throw new Error('mine')
}

type Told = Omit<ToolsChanged, 'list'> & { readonly tools: readonly string[] }

/** Watches until `count` changes are told. */
async function told(count: number, options: Partial<WatchOptions> = {}): Promise<readonly Told[]> {
  const changes: Told[] = []
  const onChange: WatchOptions['onChange'] = ({ list, ...change }) => {
    changes.push({ ...change, tools: namesOf(list.tools) })
    if (changes.length === count) ending.abort()
  }
  await toolDefs(server).watch({ onChange, signal: ending.signal, ...options })
  return changes
}

const urls = (): (string | undefined)[] => server.asked.map(({ url }) => url)
const NONE = { added: [], changed: [], removed: [] }
const added = [{ name: 'B', digest: 'sha256:b' }]

test.each(['onChange', 'signal'] as const)(
  'a watch without %s is a mistake of the program',
  async (option) => {
    await expect(told(1, { [option]: undefined })).rejects.toMatchObject({
      code: 'OPTION_INVALID',
      message: expect.stringContaining(`${option} must be`),
    })
  },
)

test('events: first the present list, then each change with the list after it', async () => {
  server.answers = [
    events(true, ['1.0.f', 'changes', names()], ['2.0.f', 'changes', names({ added, removed: ['X'] })]),
    listAnswer([listed('A')]),
    listAnswer([listed('A'), listed('B')]),
  ]
  expect(await told(2, { tags: ['t'] })).toEqual([
    { ...NONE, isReset: true, tools: ['A'] },
    { added: ['B'], changed: [], removed: ['X'], isReset: false, tools: ['A', 'B'] },
  ])
  expect(urls()[0]).toBe('/workflows/tools/changes?tags=t')
})

test('a list of an instance that has not seen the change yet is asked for again', async () => {
  const stale = listAnswer([listed('A')], { 'X-Tools-Revision': '9-a.1-g.f' })
  const fresh = listAnswer([listed('A'), listed('B')], { 'X-Tools-Revision': '11-a.1-g.f' })
  const change = events(true, ['9-a.1-g.f', 'changes', names()], ['10-a.1-g.f', 'changes', names({ added })])
  server.answers = [change, stale, stale, fresh]
  expect(await told(2)).toEqual([
    { ...NONE, isReset: true, tools: ['A'] },
    { ...NONE, added: ['B'], isReset: false, tools: ['A', 'B'] },
  ])
})

test('a feed is asked for the session, the scopes and the search tools of its list', async () => {
  server.answers = [polled('1.0.f'), listAnswer([])]
  await told(1, { session: 's', scope: ['@web', 'ref:room/hall'], with: 'search', budget: 9 })
  expect(urls()[0]).toBe(
    '/workflows/tools/changes?scope=%40web&scope=ref%3Aroom%2Fhall&with=search&session=s',
  )
})

test('polls, where no events come: each goes on from the revision of the one before', async () => {
  server.answers = [
    polled('1.0.f'),
    listAnswer([listed('A')]),
    noChange,
    polled('4.0.f', { added }),
    listAnswer([listed('A'), listed('B')]),
  ]
  expect(await told(2)).toEqual([
    { ...NONE, isReset: true, tools: ['A'] },
    { ...NONE, added: ['B'], isReset: false, tools: ['A', 'B'] },
  ])
  expect(urls().filter((url) => url?.includes('changes'))).toEqual([
    '/workflows/tools/changes?',
    '/workflows/tools/changes?since=1.0.f',
    '/workflows/tools/changes?since=3.0.f',
  ])
})

test('an outage is told once, and the feed goes on from its last change', async () => {
  const outages: (string | null)[] = []
  server.answers = [
    events(false, ['1.0.f', 'changes', names()]),
    listAnswer([listed('A')]),
    listAnswer('', { status: 503 }),
    listAnswer('', { status: 503 }),
    events(true, ['2.0.f', 'changes', names({ added })]),
    listAnswer([listed('B')]),
  ]
  const changes = await told(2, { onOutage: (reason) => outages.push(reason && reason.code) })
  expect(changes[1]).toMatchObject({ added: ['B'], isReset: false, tools: ['B'] })
  expect(outages).toEqual(['FAILED', null])
  expect(urls().filter((url) => url?.endsWith('since=1.0.f'))).toHaveLength(3)
})

test.each([
  ['a 410', refusal(410, 'REVISION_UNKNOWN', 'List again.'), polled('9.0.f')],
  ['a reset', events(true, ['9.0.f', 'reset', { revision: '9.0.f' }]), undefined],
] as const)('%s: the list counts', async (_what, gone, again) => {
  server.answers = [
    polled('1.0.f'),
    listAnswer([listed('A')]),
    gone,
    ...(again ? [listAnswer([listed('B')]), again] : []),
    listAnswer([listed('B')]),
  ]
  expect(await told(2)).toEqual([
    { ...NONE, isReset: true, tools: ['A'] },
    { ...NONE, isReset: true, tools: ['B'] },
  ])
})

test('a refusal ends the watch, and so does an error of the program', async () => {
  server.answers = [refusal(403, 'PERMISSION_DENIED', 'No.')]
  await expect(told(1)).rejects.toMatchObject({ code: 'SERVICE_REFUSED', status: 403 })
  server.answers = [polled('1.0.f'), listAnswer([])]
  await expect(told(1, { onChange: fail })).rejects.toThrow('mine')
})

test('an abort ends a watch that waits', async () => {
  server.answers = [silence]
  const watching = told(1)
  ending.abort()
  expect(await watching).toEqual([])
})
