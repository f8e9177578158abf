import { afterAll, expect, test } from '@jest/globals'
import type { ModulePut } from '../../../../functions/src/catalog/definitions/module-store.ts'
import { by } from '../../../support/definition-changes.ts'
import { putModule } from '../../../support/module-changes.ts'
import { ANN } from '../../../support/once.ts'
import { ASKS, EVERYBODY, faultedService, faultsOf, REFUSALS } from '../../../support/faulted-service.ts'

const MINUTE_MS = 60_000
const service = await faultedService()
const { services, definitions, faults, clock, trail, ran } = service
const { endOf, asked, approve, stateOf, operationsOf, close } = service
afterAll(close)

const approved = async (): Promise<string> => approve(await asked())
let count = 0
const newKey = (): string => `key ${(count += 1)}`

const operations = await operationsOf(approved, async (approval) =>
  expect(await endOf(newKey(), approval)).toBe('run'),
)

test('a call with a key and an edited approval uses every store', () => {
  const texts = operations.join('\n')
  for (const table of ['definitions', 'blobs', 'documents', 'document_bodies', 'records', 'logs'])
    expect(texts).toMatch(new RegExp(`(?:FROM|INTO|UPDATE|JOIN) ${table}\\b`))
})

/** What the key of a call answers for ever after. */
const FINAL = ['replayed', 'UNKNOWN_OUTCOME']

test.each(faultsOf(operations))('a call, %s: it has an end, and runs once', async (_name, fault) => {
  const approval = await approved()
  const key = newKey()
  const before = ran.length
  const runs = (): number => ran.length - before
  faults.watch(fault)
  const first = await endOf(key, approval)
  faults.stop()
  expect(faults.operations.length).toBeGreaterThan(fault.at)
  expect(['run', ...REFUSALS]).toContain(first)
  // A refusal has run nothing, and leaves the approval. Only if the store stays lost, nobody can give the approval back.
  expect(runs()).toBe(first === 'run' ? 1 : 0)
  const isUsed = (await stateOf(approval)) === 'used'
  if (first === 'run' || !fault.lasts) expect(isUsed).toBe(first === 'run')

  const second = await endOf(key, approval)
  expect(runs()).toBeLessThanOrEqual(1)
  // A fault that is over has left the key free, if nothing was run.
  if (first !== 'run' && !fault.lasts) expect(second).toBe('run')
  clock.nowMs += 2 * MINUTE_MS
  const third = await endOf(key, approval)
  // If the approval was not used, it is still there, and it is never used twice.
  const other = await endOf(newKey(), approval)
  expect(await endOf(newKey(), approval)).toBe('APPROVAL_CONFLICT')
  expect(['run', 'APPROVAL_CONFLICT', ...FINAL]).toContain(third)
  const expected = first !== 'run' && isUsed ? 0 : 1
  expect({ first, second, third, other, runs: runs() }).toMatchObject({ runs: expected })
  if (expected === 1) expect(FINAL).toContain(await endOf(key, approval))
})

/** The code with which this failed, or `done`. */
async function codeOf(act: Promise<unknown>): Promise<string> {
  return act.then(
    () => 'done',
    ({ code }: { code: string }) => code,
  )
}

const pendingCount = async (): Promise<number> =>
  (await services.approvals.list(ANN.uid)).filter(({ state }) => state === 'pending').length

async function withoutPending(): Promise<void> {
  for (const { id, state } of await services.approvals.list(ANN.uid))
    if (state === 'pending') await services.approvals.remove(ANN.uid, id)
}

const asking = await operationsOf(withoutPending, async () =>
  expect(await endOf(undefined)).toBe('APPROVAL_REQUIRED'),
)

test.each(faultsOf(asking))('a question, %s: it is asked once', async (_name, fault) => {
  await withoutPending()
  const before = ran.length
  faults.watch(fault)
  const first = await endOf(undefined)
  faults.stop()
  expect(['APPROVAL_REQUIRED', ...REFUSALS]).toContain(first)
  expect(await endOf(undefined)).toBe('APPROVAL_REQUIRED')
  expect([await pendingCount(), ran.length]).toEqual([1, before])
})

const deciding = await operationsOf(asked, approve)

test.each(faultsOf(deciding))('a decision, %s: it is made whole or not at all', async (_name, fault) => {
  const id = await asked()
  faults.watch(fault)
  const first = await codeOf(approve(id))
  faults.stop()
  expect(['done', ...REFUSALS]).toContain(first)
  const isDecided = (await stateOf(id)) === 'approved'
  expect(await codeOf(approve(id))).toBe(isDecided ? 'APPROVAL_CONFLICT' : 'done')
  expect([await endOf(undefined, id), await endOf(undefined, id)]).toEqual(['run', 'APPROVAL_CONFLICT'])
})

const DENIES = { default: 'allow', rules: [{ effect: 'deny', tool: 'm:send' }] } as const
const allowed = () => services.ruleWriter.put(EVERYBODY, ASKS)
const deny = () => services.ruleWriter.put(EVERYBODY, DENIES)
const ruling = await operationsOf(allowed, deny)
await allowed()

test.each(faultsOf(ruling))('a write of rules, %s: calls obey what is stored', async (_name, fault) => {
  await allowed()
  faults.watch(fault)
  const first = await codeOf(deny())
  faults.stop()
  expect(['done', ...REFUSALS]).toContain(first)
  const stored = (await services.ruleWriter.find(EVERYBODY))?.set
  expect([ASKS, DENIES]).toContainEqual(stored)
  const isDenied = stored?.rules[0]?.effect === 'deny'
  if (first === 'done') expect(isDenied).toBe(true)
  expect(await endOf(undefined)).toBe(isDenied ? 'PERMISSION_DENIED' : 'APPROVAL_REQUIRED')
  expect(await codeOf(deny())).toBe('done')
  expect(await endOf(undefined)).toBe('PERMISSION_DENIED')
  await allowed()
})

const OWN = { kind: 'user', uid: ANN.uid } as const

async function nextVersion(): Promise<ModulePut> {
  return Promise.resolve(putModule('n', ['a', 'b'], `# ${newKey()}`))
}
const write = (change: ModulePut) => definitions.writeModule(OWN, change, by(ANN.uid))

/** The sha256 of the module that each of its tools names. */
async function storedVersions(): Promise<ReadonlySet<string>> {
  const read = await definitions.layer(OWN).read(undefined)
  const own = read.definitions.filter(({ name }) => name.startsWith('n:'))
  expect(own).toHaveLength(2)
  return new Set(own.map(({ text }) => /"sha256":"(\w+)"/.exec(text)?.[1] ?? ''))
}
const writing = await operationsOf(nextVersion, write)

test.each(faultsOf(writing))('a write of a module, %s: it is whole or not there', async (_name, fault) => {
  const [before, after] = [await nextVersion(), await nextVersion()]
  await write(before)
  faults.watch(fault)
  const first = await codeOf(write(after))
  faults.stop()
  expect(['done', ...REFUSALS]).toContain(first)
  const stored = await storedVersions()
  expect([[before.sha256], [after.sha256]]).toContainEqual([...stored])
  if (first === 'done') expect(stored).toContain(after.sha256)
  expect(await codeOf(write(after))).toBe('done')
  expect([...(await storedVersions())]).toEqual([after.sha256])
})

test('the audit trail is whole after all faults', async () => {
  expect(await trail.verify()).toMatchObject({ fault: null })
})
