import { afterEach, beforeEach, expect, test } from '@jest/globals'
import type { OwnedRules, Rule, RuleSet, ToolDefinition } from '@toolrack/contract'
import type { Authentication } from '../../functions/src/hosts/authentication.ts'
import type { ServiceParts } from '../../functions/src/hosts/services.ts'
import { put } from './definition-changes.ts'
import { inProcess, type InProcess } from './in-process.ts'
import { readingRunner } from './reading-runner.ts'
import { until } from './until.ts'

/** The stores of one start of a service, over data that stay for the next start. */
export type KeptData = {
  readonly open: () => Pick<ServiceParts, 'store' | 'governance'>
  readonly dispose: () => Promise<void>
}

/** What comes from files at one start. */
type Files = { readonly tools?: readonly ToolDefinition[]; readonly operator?: RuleSet }

const USERS: Authentication = {
  authenticate: ({ authorization = '' }) =>
    Promise.resolve({
      kind: 'user',
      uid: authorization.slice('Bearer '.length),
      isAdmin: true,
      mayApprove: true,
    }),
  signJobToken: undefined,
}

function echo(name: string, description = 'Says the text.'): ToolDefinition {
  const parameters = { type: 'object', properties: { text: { type: 'string' } } }
  return {
    type: 'function',
    function: { name, description, parameters },
    runner: { kind: 'builtin', builtin: 'echo' },
  }
}

const moduleOf = (name: string, tool: string, more = '') => `"${name}:${tool}" ${more}`

/** A service over the data, with its requests. */
class Started {
  readonly #service: InProcess

  private constructor(service: InProcess) {
    this.#service = service
  }

  static async start(data: KeptData, { tools = [], operator }: Files): Promise<Started> {
    const operatorRules: OwnedRules | undefined = operator && {
      owner: { kind: 'everybody', id: 'file' },
      set: operator,
    }
    const parts = { ...data.open(), runner: readingRunner(), operatorRules, files: () => filesOf(tools) }
    return new Started(await inProcess(USERS, [], Date.now, parts))
  }

  async ask(request: string, body?: unknown, uid = 'ann'): Promise<{ status: number; body: Answer }> {
    const [method = '', path = ''] = request.split(' ')
    const answer = await fetch(`${this.#service.url}/workflows${path}`, {
      method,
      headers: { Authorization: `Bearer ${uid}` },
      body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
    })
    const text = await answer.text()
    return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Answer }
  }

  /** As `ask`, for a request that must be taken. */
  async done(request: string, body?: unknown, uid?: string): Promise<Answer> {
    const answer = await this.ask(request, body, uid)
    expect([request, answer.status < 300, answer.body]).toEqual([request, true, expect.anything()])
    return answer.body
  }

  /** The id of the approval for which a call waits. */
  async asked(name: string, session = ''): Promise<string> {
    const { status, body } = await this.ask(`POST /tools/invoke${session}`, { name, arguments: {} })
    expect([name, status]).toEqual([name, 202])
    return body.meta?.approval?.id ?? ''
  }

  /** Answers for always what a rule asks about the tool. */
  async always(name: string): Promise<string> {
    const id = await this.asked(name)
    await this.decide(id, 'always')
    expect(await this.holds(name)).toBe(true)
    return id
  }

  async decide(id: string, decision: string): Promise<void> {
    await this.done(`POST /approvals/${id}`, { decision })
  }

  /** True if a call runs without a question. The dry run must have said so. */
  async holds(name: string, session = ''): Promise<boolean> {
    const sent = { name, arguments: {} }
    const { body } = await this.ask(`POST /tools/invoke?dryRun=1${session.replace('?', '&')}`, sent)
    const { status } = await this.ask(`POST /tools/invoke${session}`, sent)
    expect([name, body.decision]).toEqual([name, status === 202 ? 'ask' : 'allow'])
    return status !== 202
  }

  stop(): Promise<void> {
    return this.#service[Symbol.asyncDispose]()
  }
}

type Answer = {
  readonly decision?: string
  readonly code?: string
  readonly sha256?: string
  readonly meta?: { readonly approval?: { readonly id: string } }
}

/** A file layer of these definitions, whose revision is that of its content, as a folder of files has it. */
function filesOf(tools: readonly ToolDefinition[]) {
  const definitions = tools.map((tool) => ({ ...put(tool), revision: put(tool).digest.slice(-12) }))
  const revision = `f${definitions.map((one) => one.revision).join('')}`
  return {
    read: (since?: string) =>
      Promise.resolve({ revision, whole: since !== revision, definitions, deleted: [], skipped: [] }),
  }
}

const IN_FILE = { tools: [echo('filed'), echo('second')] }
const files = (...operator: readonly Rule[]): Files => ({
  ...IN_FILE,
  operator: { default: 'allow', rules: operator },
})

const ASK = { effect: 'ask', tool: '*' } as const
const OTHER = { effect: 'ask', tool: '*', class: 'opaque' } as const
const rules = (...all: readonly object[]) => ({ rules: all })

/** What every pair of stores guarantees of an answer for always: it ends for good with its rule or its definition. */
export function answersForAlwaysContract(keep: () => Promise<KeptData>): void {
  let data: KeptData
  let started: Started[] = []
  async function start(files: Files = {}): Promise<Started> {
    const one = await Started.start(data, files)
    started.push(one)
    return one
  }
  async function stop(): Promise<void> {
    const running = started
    started = []
    for (const one of running) await one.stop()
  }
  async function restart(files: Files): Promise<Started> {
    await stop()
    return start(files)
  }
  beforeEach(async () => {
    data = await keep()
  })
  afterEach(async () => {
    await stop()
    await data.dispose()
  })

  test('an answer ends for good when its rule is changed, deleted, or its default changes, also if it changes back', async () => {
    const service = await start(IN_FILE)
    for (const owner of ['user/ann', 'everybody/all']) {
      const set = (body: object) => service.done(`PUT /rules/${owner}`, body)
      await set(rules(ASK))
      for (const change of [
        () => set(rules(OTHER)),
        () => set(rules()),
        () => service.done(`DELETE /rules/${owner}`),
      ]) {
        const id = await service.always('filed')
        await change()
        await set(rules(ASK))
        expect(await service.holds('filed')).toBe(false)
        const named = await service.ask('POST /tools/invoke', { name: 'filed', arguments: {}, approval: id })
        expect([named.status, named.body.code]).toEqual([409, 'APPROVAL_CONFLICT'])
      }
      await set({ default: 'ask' })
      await service.always('filed')
      await set({ default: 'allow' })
      await set({ default: 'ask' })
      expect(await service.holds('filed')).toBe(false)
      await service.done(`DELETE /rules/${owner}`)
    }
  })

  test('an answer stays when its rule is written as it is, alone or among others, and after a restart', async () => {
    const service = await start(IN_FILE)
    await service.done('PUT /rules/user/ann', rules(ASK))
    await service.always('filed')
    for (const body of [
      rules(ASK),
      rules({ effect: 'deny', tool: 'second' }, ASK),
      rules({ tool: '*', effect: 'ask' }),
    ]) {
      await service.done('PUT /rules/user/ann', body)
      expect(await service.holds('filed')).toBe(true)
    }
    await service.done('PUT /rules/session/other', rules({ effect: 'deny', tool: 'second' }))
    expect(await (await restart(IN_FILE)).holds('filed')).toBe(true)
  })

  test('an answer to a rule that was changed while the question waited never holds', async () => {
    const service = await start(IN_FILE)
    await service.done('PUT /rules/user/ann', rules(ASK))
    const id = await service.asked('filed')
    await service.done('PUT /rules/user/ann', rules(OTHER))
    await service.done('PUT /rules/user/ann', rules(ASK))
    expect(await service.asked('filed')).not.toBe(id)
    await service.decide(id, 'always')
    expect(await service.holds('filed')).toBe(false)
  })

  test.each(['user', 'global'])(
    'an answer ends for good when a definition of the %s layer is changed or deleted, also if it comes back',
    async (layer) => {
      const service = await start()
      const at = (name: string) => `/tools/defs/${name}?layer=${layer}`
      await service.done('PUT /rules/everybody/all', rules({ ...ASK, future: true }))
      const define = (description?: string) => service.done(`PUT ${at('mine')}`, echo('mine', description))
      await define()
      for (const change of [() => define('Another.'), () => service.done(`DELETE ${at('mine')}`)]) {
        await service.always('mine')
        await define()
        expect(await service.holds('mine')).toBe(true)
        await change()
        await define()
        expect(await service.holds('mine')).toBe(false)
      }
      const id = await service.asked('mine')
      await define('Another.')
      await define()
      await service.decide(id, 'always')
      expect(await service.holds('mine')).toBe(false)
    },
  )

  test('an answer ends for good when another layer defines the name for a moment', async () => {
    const service = await start(IN_FILE)
    await service.done('PUT /rules/everybody/all', rules(ASK))
    await service.always('second')
    for (const [layer, uid] of [
      ['user', 'ann'],
      ['global', 'root'],
    ] as const) {
      await service.always('filed')
      await service.done(`PUT /tools/defs/filed?layer=${layer}`, echo('filed', 'Another.'), uid)
      await service.done(`DELETE /tools/defs/filed?layer=${layer}`, undefined, uid)
      expect(await service.holds('filed')).toBe(false)
    }
    await service.always('filed')
    await service.done('PUT /tools/defs/filed?layer=user', echo('filed', 'Of Bob.'), 'bob')
    expect(await service.holds('filed')).toBe(true)
    const again = await restart(IN_FILE)
    expect([await again.holds('filed'), await again.holds('second')]).toEqual([true, true])
  })

  test('an answer ends for good when its module is uploaded anew, and rolled back', async () => {
    const service = await start()
    await service.done('PUT /rules/everybody/all', rules({ ...ASK, future: true }))
    const { sha256 } = await service.done('PUT /tools/modules/notes', moduleOf('notes', 'write'))
    await service.always('notes:write')
    await service.done('PUT /tools/modules/notes', moduleOf('notes', 'write', 'changed'))
    await service.done('POST /tools/modules/notes/rollback', { sha256 })
    expect(await service.holds('notes:write')).toBe(false)
    await service.always('notes:write')
    await service.done('DELETE /tools/modules/notes')
    await service.done('PUT /tools/modules/notes', moduleOf('notes', 'write'))
    expect(await service.holds('notes:write')).toBe(false)
  })

  test("an answer ends for good when the operator's file is another one at a start, and stays otherwise", async () => {
    await (await start(files(ASK))).always('filed')
    expect(await (await restart(files({ effect: 'deny', tool: 'second' }, ASK))).holds('filed')).toBe(true)
    await (await restart(files(OTHER))).done('GET /tools/list')
    const again = await restart(files(ASK))
    expect(await again.holds('filed')).toBe(false)
    await again.always('filed')
    // Another set of rules without the rule.
    await (await restart(files())).done('GET /tools/list')
    expect(await (await restart(files(ASK))).holds('filed')).toBe(false)
    const byDefault: Files = { ...IN_FILE, operator: { default: 'ask', rules: [] } }
    await (await restart(byDefault)).always('filed')
    await (await restart(files())).done('GET /tools/list')
    expect(await (await restart(byDefault)).holds('filed')).toBe(false)
  })

  test('an answer ends for good when a file says something else of the tool at a start, and stays otherwise', async () => {
    const service = await start(IN_FILE)
    await service.done('PUT /rules/everybody/all', rules(ASK))
    await service.always('filed')
    await service.always('second')
    const more = { tools: [...IN_FILE.tools, echo('third')] }
    expect(await (await restart(more)).holds('filed')).toBe(true)
    await (await restart({ tools: [echo('filed', 'Another.'), echo('second')] })).done('GET /tools/list')
    const changed = await restart(IN_FILE)
    expect([await changed.holds('filed'), await changed.holds('second')]).toEqual([false, true])
    await (await restart({ tools: [echo('filed')] })).done('GET /tools/list')
    expect(await (await restart(IN_FILE)).holds('second')).toBe(false)
  })

  test('an answer for a session ends in the same way', async () => {
    const service = await start(IN_FILE)
    await service.done('PUT /sessions/s', {})
    await service.done('PUT /rules/user/ann', rules(ASK))
    const id = await service.asked('filed', '?session=s')
    await service.decide(id, 'session')
    expect(await service.holds('filed', '?session=s')).toBe(true)
    await service.done('PUT /rules/user/ann', rules(OTHER))
    await service.done('PUT /rules/user/ann', rules(ASK))
    expect(await service.holds('filed', '?session=s')).toBe(false)
  })

  test('what one instance changes there and back has ended at the other, too', async () => {
    const [one, other] = [await start(IN_FILE), await start(IN_FILE)]
    await one.done('PUT /rules/everybody/all', rules(ASK))
    await one.done('PUT /tools/defs/mine', echo('mine'))
    await one.always('filed')
    await one.always('mine')
    const names = ['filed', 'mine']
    const held = () =>
      Promise.all(names.map((name) => other.ask('POST /tools/invoke', { name, arguments: {} })))
    await until(held, (answers) => answers.every(({ status }) => status === 200))
    await one.done('PUT /tools/defs/mine', echo('mine', 'Another.'))
    await one.done('PUT /tools/defs/mine', echo('mine'))
    await one.done('PUT /rules/everybody/all', rules(OTHER))
    await one.done('PUT /rules/everybody/all', rules(ASK))
    await until(held, (answers) => answers.every(({ status }) => status === 202))
  })
}
