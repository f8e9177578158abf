import { afterAll, expect, test } from '@jest/globals'
import {
  aliasOf,
  definitionDigest,
  type OwnedRules,
  type Rule,
  type ToolDefinition,
} from '@toolrack/contract'
import { grantOf, type Principal } from '../../../functions/src/access/principal.ts'
import { APPROVAL_MS } from '../../../functions/src/features/approvals/approval.ts'
import { inProcess } from '../../support/in-process.ts'
import { randomNumbers } from '../../support/random-numbers.ts'
import { NOW } from '../../support/signed-tokens.ts'

const ROUNDS = 40
const CALLS = 14
const random = randomNumbers(45)
const oneOf = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T
const some = <T>(count: number, make: () => T): T[] =>
  Array.from({ length: Math.floor(random() * (count + 1)) }, make)
const often = (share: number): boolean => random() < share

function tool(name: string, more: Partial<ToolDefinition> = {}): ToolDefinition {
  const parameters = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
  return {
    type: 'function',
    function: { name, description: 'Says the text.', parameters },
    runner: { kind: 'builtin', builtin: 'echo' },
    ...more,
  }
}

const IN_FILES = [
  tool('git:log', { annotations: { readOnlyHint: true } }),
  tool('git:push'),
  tool('web:fetch', { annotations: { classes: ['network_access'] } }),
  { ...tool('client'), runner: { kind: 'workflow', workflowName: 'w' } } as ToolDefinition,
  tool('strict', {
    runner: { kind: 'python', module: 'm', sha256: 'a'.repeat(64) },
    limits: { minIsolation: 'L9' },
  }),
]
const NAMES = IN_FILES.map((one) => one.function.name)
const OPERATOR: OwnedRules = {
  owner: { kind: 'everybody', id: 'file' },
  set: { default: 'allow', rules: [{ effect: 'ask', tool: 'git:*', args: { text: 'operator*' } }] },
}

/** The tokens of the test: `Bearer ann`, `Bearer root`, and `Bearer ann/git:log,web:fetch` for a job that may call these. */
function principalOf(token: string): Principal {
  const [uid = '', names] = token.split('/')
  if (names === undefined) return { kind: 'user', uid, isAdmin: uid === 'root', mayApprove: true }
  const granted = IN_FILES.filter((one) => names.split(',').includes(one.function.name))
  const grant = grantOf(granted.map((one) => ({ name: one.function.name, digest: definitionDigest(one) })))
  return { kind: 'job', uid, isAdmin: false, grant, workflowId: 'nightly' }
}

let nowMs = NOW
const access = {
  authenticate: ({ authorization = '' }) =>
    Promise.resolve(principalOf(authorization.slice('Bearer '.length))),
  signJobToken: undefined,
}
const service = await inProcess(access, IN_FILES, () => nowMs, { operatorRules: OPERATOR })
afterAll(() => service[Symbol.asyncDispose]())

type Answer = { readonly status: number; readonly code: string | undefined; readonly body: Body }
type Body = {
  readonly code?: string
  readonly error?:
    string | { readonly message: string; readonly details: readonly { readonly reason: string }[] }
  readonly decision?: string
  readonly approval?: { readonly id: string; readonly status: string } | null
  readonly effect?: string
  readonly listed?: boolean
  readonly message?: string | null
  readonly name?: string
  readonly visible?: boolean
  readonly hidden?: { readonly reason: string } | null
  readonly refused?: { readonly reason: string }
  readonly meta?: { readonly approval?: { readonly id: string } }
}

async function ask(token: string, request: string, body?: object): Promise<Answer> {
  const [method = '', path = ''] = request.split(' ')
  const headers = { Authorization: `Bearer ${token}`, 'X-Project-Id': oneOf(['p1', 'p2']) }
  const init = { method, headers, body: body ? JSON.stringify(body) : null }
  const answer = await fetch(`${service.url}/workflows${path}`, init)
  const text = await answer.text()
  const read = (text === '' ? {} : JSON.parse(text)) as Body
  const code = typeof read.error === 'object' ? read.error.details[0]?.reason : read.code
  return { status: answer.status, code, body: read }
}

function rule(): Rule {
  const text = oneOf(['a*', 'ab', '*', 'b', undefined, undefined])
  return {
    effect: oneOf(['deny', 'ask', 'ask', 'allow'] as const),
    tool: oneOf([...NAMES, 'git:*', '*']),
    ...(often(0.2) && { class: oneOf(['read', 'opaque', 'network_access'] as const) }),
    ...(text !== undefined && { args: { text } }),
    future: true,
  }
}

const ruleSet = () => ({ default: oneOf(['allow', 'allow', 'allow', 'ask', 'deny']), rules: some(3, rule) })

/** Changes something at random: a rule, a session, a link, a definition, an approval, or the time. */
async function change(uid: string, waiting: readonly string[]): Promise<void> {
  const session = oneOf(SESSIONS)
  const agent = oneOf(['coder', 'writer'])
  const owner = oneOf([
    `user/${uid}`,
    'workflow/nightly',
    `session/${session}`,
    `agent/${agent}`,
    'everybody/all',
  ])
  const writer = owner === 'everybody/all' ? 'root' : uid
  const name = oneOf(NAMES)
  const parent = oneOf([undefined, undefined, undefined, 's0', 's1'])
  const changes = [
    () => ask(writer, `PUT /rules/${owner}`, ruleSet()),
    () => ask(writer, `PUT /rules/${owner}`, ruleSet()),
    () => ask(writer, `DELETE /rules/${owner}`),
    () => ask(uid, `PUT /agents/session/${session}`, { agentId: agent }),
    () => ask(uid, `DELETE /agents/session/${session}`),
    () =>
      ask(uid, `PUT /sessions/${session}`, {
        selection: oneOf<'all' | string[]>(['all', some(4, () => oneOf(NAMES))]),
        lockDigests: often(0.5),
        ...(often(0.4) && { agent }),
        ...(parent !== undefined && parent !== session && { parent }),
      }),
    () => ask(uid, `POST /sessions/${session}/messages`, {}),
    () => (often(0.2) ? ask(uid, `DELETE /sessions/${session}`) : Promise.resolve()),
    () =>
      ask(uid, `PUT /tools/defs/${name}`, { ...tool(name), runner: { kind: 'builtin', builtin: 'echo' } }),
    () => ask(uid, `DELETE /tools/defs/${name}`),
    async () => (nowMs += often(0.2) ? APPROVAL_MS : 1_000),
  ]
  await oneOf(changes)()
  const id = oneOf(waiting)
  if (id === undefined) return
  const edited = often(0.3) && { arguments: { text: oneOf(['a', 'b', 'operator']) } }
  const decision = oneOf(['once', 'always', 'always', 'session', 'deny'])
  await ask(uid, `POST /approvals/${id}`, { decision, ...(decision === 'once' && edited) })
}

const SESSIONS = ['s0', 's1', 's2']

/** A random call, and who makes it through which session. */
function randomCall(uid: string, approvals: readonly string[]) {
  const meant = oneOf([...NAMES, 'git:log', 'git:push', 'web:fetch'])
  const name = oneOf([meant, meant, meant, meant, aliasOf(meant), often(0.3) ? 'git:pul' : meant])
  const text = oneOf<unknown>(['a', 'ab', 'b', 'b', 'operator', 7])
  const approval = often(0.3) ? oneOf([...approvals, crypto.randomUUID()]) : undefined
  const body = { name, arguments: { text }, ...(approval !== undefined && { approval }) }
  const granted = some(3, () => oneOf(NAMES))
  const isJob = often(0.2)
  const session = oneOf([undefined, undefined, ...SESSIONS])
  const token = isJob ? `${uid}/${[name, ...granted].join()}` : uid
  return { body, session, token, isJob }
}

const wrong: object[] = []
/** How often a call ended in each way, an approval was found in each state, and explain said each thing. */
const seen = new Map<string, number>()

function count(what: string): void {
  seen.set(what, (seen.get(what) ?? 0) + 1)
}

/** Compares what is said of a call with what it then does. Returns the approval for which it waits. */
async function compare(uid: string, call: ReturnType<typeof randomCall>): Promise<string | undefined> {
  const { body, session, token, isJob } = call
  const through = session === undefined ? '' : `&session=${session}`
  const dry = await ask(token, `POST /tools/invoke?dryRun=1${through}`, body)
  const as = isJob ? { as: { workflow: 'nightly' } } : {}
  const simulated = await ask(uid, `POST /permissions/simulate?${through.slice(1)}`, { ...body, ...as })
  const explained = await ask(token, `GET /tools/explain?name=${body.name}${through}`)
  const list = await ask(token, `GET /tools/list?names=${body.name}${through}`)
  const real = await ask(token, `POST /tools/invoke?${through.slice(1)}`, body)
  const end = real.status === 200 ? 'ran' : (real.code ?? '')
  count(end)
  if (dry.body.approval) count(dry.body.approval.status)

  const asDry = dry.code ?? (dry.body.decision === 'ask' ? 'APPROVAL_REQUIRED' : 'ran')
  const faults = [asDry !== end && 'dry run']
  if (real.status >= 300)
    faults.push((dry.status !== real.status || dry.body.error !== real.body.error) && 'dry error')
  // A token that names the tool as it is now is that of the simulation.
  if (!isJob || !['PERMISSION_DENIED', 'DIGEST_CHANGED'].includes(end)) {
    const isSaid = simulated.status === 200
    const code = isSaid ? (simulated.body.code ?? 'ran') : simulated.code
    faults.push(code !== end && 'simulation')
    const message = isSaid ? simulated.body.message : (simulated.body.error as { message: string }).message
    faults.push(real.status >= 300 && message !== real.body.error && 'message of the simulation')
    const [ofDry, ofSimulation] = [dry.body.approval ?? null, simulated.body.approval ?? null]
    faults.push(JSON.stringify(ofDry) !== JSON.stringify(ofSimulation) && 'approval')
  }
  if (explained.status === 200) {
    const { hidden, visible, refused } = explained.body
    const why = refused?.reason ?? hidden?.reason ?? 'visible'
    count(`explained:${refused ? 'refused' : why}`)
    const isListed = (list.body as unknown as readonly unknown[]).length === 1
    faults.push(visible !== isListed && 'explain and list')
    if (simulated.status === 200 && !isJob) faults.push(simulated.body.listed !== isListed && 'listed')
    faults.push(!EXPLAINED[why]?.(end) && 'explain')
  } else faults.push(explained.code !== end && 'error of explain')
  const found = faults.filter(Boolean)
  if (found.length > 0)
    wrong.push({ found, call, end, real, dry, simulated, explained: explained.body.hidden })
  return real.body.meta?.approval?.id
}

/** Which ends a call may have, by what explain says of the tool. */
const EXPLAINED: Readonly<Record<string, (end: string) => boolean>> = {
  visible: (end) => !['NOT_SELECTED', 'TOOL_NOT_FOUND', 'DIGEST_CHANGED'].includes(end),
  NOT_SELECTED: (end) => end === 'NOT_SELECTED',
  NOT_DEFINED: (end) => end === 'TOOL_NOT_FOUND',
  NOT_GRANTED: (end) => end === 'PERMISSION_DENIED',
  DIGEST_CHANGED: (end) => end === 'DIGEST_CHANGED',
  DENIED: (end) => end === 'PERMISSION_DENIED',
}

/** What the random worlds must reach, so that the comparison says something. */
const REACHED =
  `ran APPROVAL_REQUIRED APPROVAL_DENIED APPROVAL_CONFLICT APPROVAL_NOT_FOUND PERMISSION_DENIED NOT_SELECTED
  DIGEST_CHANGED SESSION_NOT_FOUND TOOL_NOT_FOUND ARGUMENTS_INVALID RUNS_AT_CLIENT ISOLATION_UNAVAILABLE
  always session approved pending explained:visible explained:DENIED explained:NOT_SELECTED
  explained:NOT_GRANTED explained:NOT_DEFINED explained:DIGEST_CHANGED explained:refused`.split(/\s+/)

test(`in ${ROUNDS} random worlds, what dry runs, simulations, lists and explain say of a call is what it does`, async () => {
  for (let round = 0; round < ROUNDS; round += 1) {
    const uid = `u${round}`
    const approvals: string[] = []
    for (const name of ['coder', 'writer']) await ask(uid, 'POST /agents', { name })
    for (const id of SESSIONS)
      await ask(uid, `PUT /sessions/${id}`, { parent: id === 's2' ? 's1' : null, lockDigests: often(0.5) })
    for (let at = 0; at < CALLS; at += 1) {
      for (let changes = 0; changes < 2; changes += 1) await change(uid, approvals)
      const call = randomCall(uid, approvals)
      const waiting = await compare(uid, call)
      if (waiting !== undefined) approvals.push(waiting)
      // An equal call, after a user has decided about it.
      if (waiting !== undefined && often(0.7)) {
        await ask(uid, `POST /approvals/${waiting}`, {
          decision: oneOf(['once', 'always', 'session', 'deny']),
        })
        const { approval: _before, ...body } = { approval: undefined, ...call.body }
        await compare(uid, { ...call, body: often(0.5) ? { ...body, approval: waiting } : body })
      }
    }
  }
  expect(wrong.slice(0, 3)).toEqual([])
  for (const what of REACHED) expect({ what, times: seen.get(what) ?? 0 }).not.toEqual({ what, times: 0 })
})
