import { afterAll, expect } from '@jest/globals'
import { setTimeout as pause } from 'node:timers/promises'
import { chat } from '../client/calls.ts'
import { uploaded } from './modules.ts'
import { OriginalClient } from './original-client.ts'
import { MAY_HAVE_RUN, NO_WORKFLOW, OriginalEngine } from './original-engine.ts'
import type { Call, Item, Workflow } from './original-engine.ts'
import { withPython } from './runner-environment.ts'

/** A service that the test can take away from the engine. */
export type EngineService = AsyncDisposable & {
  readonly url: string
  /** `fetch` with a path of the service, as the user. */
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>
  /** The parameters with which the service answers `{"items": […]}`. */
  readonly itemsQuery: string
  /** The token of the engine, which may call these tools. */
  readonly token: (tools: readonly string[]) => Promise<string>
  /** What the model reads about the tool NO_SUCH_TOOL. */
  readonly unknownTool: string
  readonly takeAway: () => Promise<void>
  readonly giveBack: () => Promise<void>
  /** Resolves when the service runs the calls of the dispatch with `find <title>`. */
  readonly untilRuns: (title: string) => Promise<void>
  /** What the user's calls of Python tools have printed: one text for each call that has ended. */
  readonly printed: () => Promise<readonly string[]>
}

const BOOKS = `
import time


def find(title: str) -> str:
    """Says where a book is."""
    print("find", title)
    return f"{title} is on shelf 7"


def order(title: str, seconds: float) -> str:
    """Orders a book."""
    print("order", title)
    time.sleep(seconds)
    return f"{title} is ordered"


def burn(title: str) -> str:
    """Always fails."""
    print("burn", title)
    raise ValueError("books do not burn here")


TOOL_SPECS = [{"name": f"books:{handler.__name__}", "handler": handler} for handler in (find, order, burn)]
`

/** Tools of workflows, in the shape of the original's files. The engine has no workflow for the second one. */
const DEFINITIONS = [
  ['POST_INVOICE', 'tools-Invoices'],
  ['SEND_LETTER', 'tools-Letters'],
].map(([name, workflowName]) => ({
  type: 'function',
  workflowName,
  function: {
    name,
    description: 'Does one small thing.',
    parameters: { type: 'object', properties: { amount: { type: 'number' } } },
  },
}))

/** The tools of the conversation that exist. */
const CALLED = 'POST_INVOICE READ_FILE SEND_LETTER ECHO books:find books:order books:burn'.split(' ')
/** What the list must have. READ_FILE is a tool of the command line, so it has the default workflow. */
const LISTED = ['POST_INVOICE: tools-Invoices', 'READ_FILE: tools-CliTools', 'SEND_LETTER: tools-Letters']
const OWN_TOOLS: readonly Item[] = [{ function: { name: 'READ_FILE' }, workflowName: 'tools-CliTools' }]
const OWN_LISTED = ['READ_FILE: tools-CliTools']

const MOMENTS = [
  'before the first list',
  'before a later list',
  'while a dispatch runs tools',
  'while a workflow runs',
] as const
type Moment = (typeof MOMENTS)[number]

const TRIES_WITHOUT_SERVICE = 2
const PAUSES_MAX = 400

/** A conversation of ten calls. At one of the moments the service is taken away, and later it comes back. */
export function conversationContract(open: () => Promise<EngineService>): void {
  // Without a Python no test runs, so the service is never opened.
  let opening: Promise<EngineService> | undefined
  afterAll(async () => (await opening)?.[Symbol.asyncDispose]())
  for (const moment of MOMENTS)
    withPython(
      `the service is taken away ${moment}: each call is answered once, and none runs twice`,
      async () => converse(await (opening ??= open().then(withTools)), moment),
    )
  for (const at of ['/agents', '/workflows/agents'] as const)
    withPython(`a session lists and calls the tools of the agent that a client keeps at ${at}`, async () =>
      converseWithAgent(await (opening ??= open().then(withTools)), at),
    )
}

async function withTools(service: EngineService): Promise<EngineService> {
  for (const definition of DEFINITIONS) {
    const path = `/workflows/tools/defs/${definition.function.name}?layer=user`
    const answer = await service.fetch(path, { method: 'PUT', body: JSON.stringify(definition) })
    expect(answer.status).toBe(201)
  }
  await uploaded(service, 'books', BOOKS)
  return service
}

/** What the scripted model calls in each turn, and the book that the calls of the third turn name. */
function script(moment: Moment): { readonly book: string; readonly turns: readonly (readonly Call[])[] } {
  const book = `Emma ${moment}`
  const seconds = moment === 'while a dispatch runs tools' ? 25 : 0
  const turns = [
    [chat('0', 'ECHO', { text: 'Hello.' }), chat('1', 'POST_INVOICE', { amount: 1 })],
    [
      chat('2', 'NO_SUCH_TOOL', {}),
      chat('3', 'books__burn', { title: book }),
      chat('4', 'READ_FILE', { path: 'a.txt' }),
    ],
    [
      chat('5', 'books__find', { title: book }),
      chat('6', 'books__order', { title: book, seconds }),
      chat('7', 'POST_INVOICE', { amount: 2 }),
    ],
    [chat('8', 'SEND_LETTER', {}), chat('9', 'books__find', { title: `Ulysses ${moment}` })],
  ]
  return { book, turns }
}

async function converse(service: EngineService, moment: Moment): Promise<void> {
  const { book, turns } = script(moment)
  await using outage = new Outage(service)
  const started: string[] = []
  const invoices: Workflow = async ({ tool_call: { id, function: fn }, cost, env }) => {
    started.push(`${id} after ${cost} with ${JSON.stringify(env)}`)
    if (moment === 'while a workflow runs' && id === '7') await outage.begin()
    const { amount } = JSON.parse(fn.arguments) as { amount: number }
    return { encoded: `Invoice ${amount} is posted.`, cost: 0.25 }
  }
  const files: Workflow = ({ tool_call: { id, function: fn } }) => {
    started.push(`${id} with ${fn.arguments}`)
    return Promise.resolve({ encoded: 'The text of a file.' })
  }
  const authorization = `Bearer ${await service.token(CALLED)}`
  const engine = new OriginalEngine({
    service: service.url,
    headers: { Authorization: authorization, 'x-user-id': 'ann', 'x-project-id': 'library' },
    query: `${service.itemsQuery}names=,${CALLED.join()}`,
    ownTools: OWN_TOOLS,
    workflows: { 'tools-Invoices-dev': invoices, 'tools-CliTools-dev': files },
    env: { WORKFLOW_ENV: '-dev' },
    pause: () => outage.pause(),
  })

  const lists: (readonly string[])[] = []
  for (const [turn, calls] of turns.entries()) {
    if (moment === 'before the first list' && turn === 0) await outage.begin()
    if (moment === 'before a later list' && turn === 2) await outage.begin()
    const answering = engine.turn((tools) => {
      lists.push(tools.map((tool) => `${tool.function.name}: ${tool.workflowName}`))
      return calls
    })
    const isLostNow = moment === 'while a dispatch runs tools' && turn === 2
    const losing = isLostNow ? service.untilRuns(book).then(() => outage.begin()) : undefined
    await Promise.all([answering, losing])
  }
  expect(outage.isOver).toBe(true)
  expectRuns(moment, await service.printed())

  const whole = expect.arrayContaining([...LISTED])
  const first = moment === 'before the first list' ? OWN_LISTED : whole
  expect(lists).toEqual([first, whole, whole, whole])
  expect(engine.messages).toEqual(conversation(moment, service.unknownTool))
  const env = '{"WORKFLOW_ENV":"-dev"}'
  expect(started).toEqual([`1 after 0 with ${env}`, '4 with {"path":"a.txt"}', `7 after 0.25 with ${env}`])
  expect(engine.cost).toBe(0.5)
}

const postsInvoices: Workflow = ({ tool_call: { function: fn } }) =>
  Promise.resolve({ encoded: `Posted with ${fn.arguments}.` })

/** A client creates an agent, gives it tools and links a session to it. The engine lists these tools, and calls them. */
async function converseWithAgent(service: EngineService, at: '/agents' | '/workflows/agents'): Promise<void> {
  const client = new OriginalClient({ fetch: service.fetch, at, projectId: 'library' })
  const name = `Bookkeeper at ${at}`
  const agent = await client.create({ name, description: null, workflowName: null, tools: ['SEND_LETTER'] })
  await expect(client.create({ name })).rejects.toThrow(/^You have an agent with the id/)
  await client.addTools(agent.id, 'POST_INVOICE')
  expect(await client.removeTools(agent.id, ['SEND_LETTER'])).toEqual(['POST_INVOICE'])
  expect(await client.update(agent.id, { description: 'Posts.' })).toMatchObject({
    name,
    tools: ['POST_INVOICE'],
  })
  expect((await client.list()).map(({ id }) => id)).toContain(agent.id)
  const sessionId = `session of ${agent.id}`
  await client.link(sessionId, agent.id)

  const lists: (readonly string[])[] = []
  const engine = new OriginalEngine({
    service: service.url,
    headers: {
      Authorization: `Bearer ${await service.token(CALLED)}`,
      'x-user-id': 'ann',
      'x-project-id': 'library',
    },
    query: service.itemsQuery,
    sessionId,
    ownTools: OWN_TOOLS,
    workflows: { 'tools-Invoices-dev': postsInvoices },
    env: { WORKFLOW_ENV: '-dev' },
    pause: () => pause(50),
  })
  const model = (calls: readonly Call[]) => (tools: readonly Item[]) => {
    lists.push(tools.map((tool) => tool.function.name))
    return calls
  }
  const call = chat('1', 'POST_INVOICE', { amount: 3 })
  await engine.turn(model([call]))
  expect(engine.messages).toEqual([
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: '1', content: 'Posted with {"amount":3}.' },
  ])
  // Without tools, and without an agent, the engine has its defaults.
  await client.removeTools(agent.id, 'POST_INVOICE')
  await engine.turn(model([chat('2', 'ECHO', { text: 'x' })]))
  await client.delete(agent.id)
  await client.unlink(sessionId)
  await engine.turn(model([chat('3', 'ECHO', { text: 'x' })]))
  const defaults = expect.arrayContaining(['POST_INVOICE', 'READ_FILE', 'SEND_LETTER'])
  expect(lists).toEqual([['POST_INVOICE'], defaults, defaults])
}

/** The messages of the whole conversation. */
function conversation(moment: Moment, unknownTool: string): readonly object[] {
  const { book, turns } = script(moment)
  const isLost = moment === 'while a dispatch runs tools'
  const texts = [
    'Hello.',
    'Invoice 1 is posted.',
    unknownTool,
    expect.stringContaining('books do not burn here'),
    'The text of a file.',
    isLost ? MAY_HAVE_RUN : `${book} is on shelf 7`,
    isLost ? MAY_HAVE_RUN : `${book} is ordered`,
    'Invoice 2 is posted.',
    NO_WORKFLOW,
    `Ulysses ${moment} is on shelf 7`,
  ]
  return turns.flatMap((calls) => [
    { role: 'assistant', content: null, tool_calls: calls },
    ...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: texts[Number(id)] })),
  ])
}

/** Every call of a Python tool has run once. A call whose dispatch was lost has run at most once. */
function expectRuns(moment: Moment, printed: readonly string[]): void {
  const { book } = script(moment)
  const [lost, others] = [
    [`find ${book}\n`, `order ${book}\n`],
    [`burn ${book}\n`, `find Ulysses ${moment}\n`],
  ]
  const runs = printed.filter((text) => text.includes(moment)).toSorted()
  const isLost = moment === 'while a dispatch runs tools'
  const ran = isLost ? lost.filter((text) => runs.includes(text)) : lost
  expect(runs).toEqual([...ran, ...others].toSorted())
}

/** Takes the service away, and gives it back when the engine has tried in vain twice. */
class Outage implements AsyncDisposable {
  readonly #service: EngineService
  #triesLeft: number | undefined
  #pauses = 0

  constructor(service: EngineService) {
    this.#service = service
  }

  get isOver(): boolean {
    return this.#triesLeft === 0
  }

  async begin(): Promise<void> {
    await this.#service.takeAway()
    this.#triesLeft = TRIES_WITHOUT_SERVICE
  }

  /** What the engine does between two tries. A service that has come back may have to wait for its runner. */
  async pause(): Promise<void> {
    this.#pauses += 1
    if (this.#pauses > PAUSES_MAX) throw new Error('the engine has tried in vain too often')
    if (!this.#triesLeft) return pause(50)
    this.#triesLeft -= 1
    if (this.#triesLeft === 0) await this.#service.giveBack()
  }

  /** A test that has failed leaves the service to the next one. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#triesLeft) await this.#service.giveBack()
    this.#triesLeft = 0
  }
}
