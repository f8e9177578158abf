import { expect, test } from '@jest/globals'
import type { Digest, Rule } from '@toolrack/contract'
import { FileMarks, MARKED_TOOLS_MAX } from '../../../../functions/src/features/approvals/file-marks.ts'
import { ruleText } from '../../../../functions/src/features/rules/rule-marks.ts'
import { MARKS, type RuleStore } from '../../../../functions/src/features/rules/rule-store.ts'
import { put, tool } from '../../../support/definition-changes.ts'
import { memoryStores } from '../../../support/memory-governance.ts'

const A: Digest = `sha256:${'a'.repeat(64)}`
const B: Digest = `sha256:${'b'.repeat(64)}`
const RULE: Rule = { effect: 'ask', tool: '*' }

/** The read of a file layer with these digests. */
function layer(digests: Readonly<Record<string, Digest>>) {
  const definitions = Object.entries(digests).map(([name, digest]) => ({
    ...put(tool(name)),
    digest,
    revision: digest,
  }))
  return { whole: true, definitions }
}

const asked = (name: string, digest: Digest) => ({ tool: { name, digest }, rules: [] })

/** Marks over a real store, whose reads fail as long as there is a fault. `start` is another start over the same store. */
function marksOver() {
  const { rules } = memoryStores()
  const state = { fault: undefined as Error | undefined, isComplete: true, logged: [] as string[] }
  const store: Pick<RuleStore, 'read' | 'change'> = {
    read: (scope) => (state.fault ? Promise.reject(state.fault) : rules.read(scope)),
    change: (scope, plan) => rules.change(scope, plan),
  }
  function start(operator: readonly Rule[] = []): FileMarks {
    return new FileMarks({
      store,
      operator: { owner: { kind: 'everybody', id: 'file' }, set: { default: 'allow', rules: operator } },
      isComplete: () => state.isComplete,
      log: {
        info: () => undefined,
        warn: (message) => void state.logged.push(message),
        error: () => undefined,
      },
    })
  }
  return {
    state,
    start,
    text: () => rules.read(MARKS),
    set: (text: string) => rules.change(MARKS, () => ({ text, result: undefined })),
  }
}

async function seen(marks: FileMarks, digests: Readonly<Record<string, Digest>>): Promise<void> {
  marks.sees(layer(digests))
  await marks.compare()
}

test('a definition keeps its mark as long as its file says the same, also after a start, and others have other marks', async () => {
  const { start, text } = marksOver()
  const marks = start()
  await seen(marks, { a: A, b: B })
  expect(await text()).toBeUndefined()
  expect(await marks.find(asked('a', A))).toEqual({ tool: undefined, rules: [] })
  const { tool: mark } = await marks.make(asked('a', A))
  expect(mark).toMatch(/^[\w-]{12}$/)
  expect((await marks.make(asked('b', B))).tool).not.toBe(mark)
  const again = start()
  await seen(again, { c: A, a: A })
  expect((await again.find(asked('a', A))).tool).toBe(mark)
  expect((await again.make(asked('a', A))).tool).toBe(mark)
})

test.each<[string, Readonly<Record<string, Digest>>]>([
  ['says something else', { a: B }],
  ['lacks the definition', {}],
])('a mark is gone for good when the file %s, although nobody asks meanwhile', async (_what, between) => {
  const { start } = marksOver()
  const marks = start()
  await seen(marks, { a: A })
  const { tool: before } = await marks.make(asked('a', A))
  await seen(marks, between)
  await seen(marks, { a: A })
  expect((await marks.find(asked('a', A))).tool).toBeUndefined()
  expect((await marks.make(asked('a', A))).tool).not.toBe(before)
})

test('as long as definitions may still come, one that is missing keeps its mark, and one that differs does not', async () => {
  const { state, start } = marksOver()
  const before = start()
  await seen(before, { a: A, b: A })
  const { tool: mark } = await before.make(asked('a', A))
  await before.make(asked('b', A))
  state.isComplete = false
  const marks = start()
  await seen(marks, { b: B })
  await seen(marks, { a: A, b: A })
  expect([(await marks.find(asked('a', A))).tool, (await marks.find(asked('b', A))).tool]).toEqual([
    mark,
    undefined,
  ])
  await seen(marks, {})
  state.isComplete = true
  // The layer is read again, and has not changed.
  marks.sees({ whole: false, definitions: [] })
  await marks.compare()
  await seen(marks, { a: A })
  expect((await marks.find(asked('a', A))).tool).toBeUndefined()
})

test('a call of a definition that the file does not have any more gets no mark, and none is stored', async () => {
  const { start, text } = marksOver()
  const marks = start()
  await seen(marks, { a: B })
  expect(await marks.make(asked('a', A))).toEqual({ tool: undefined, rules: [] })
  expect(await text()).toBeUndefined()
})

test('a rule of the operator keeps its mark until a start without it', async () => {
  const { start } = marksOver()
  const rules = [ruleText(RULE)]
  const marks = start([RULE])
  await marks.compare()
  const made = await marks.make({ tool: undefined, rules })
  const again = start([{ effect: 'deny', tool: 'x' }, RULE])
  await again.compare()
  expect(await again.find({ tool: undefined, rules })).toEqual(made)
  await start().compare()
  expect((await start([RULE]).find({ tool: undefined, rules })).rules).toEqual([undefined])
})

test('a store that cannot be read is tried again with the next read of the layer, and logged once', async () => {
  const { state, start } = marksOver()
  const marks = start()
  await seen(marks, { a: A })
  const { tool: before } = await marks.make(asked('a', A))
  state.fault = new Error('away')
  await seen(marks, { a: B })
  marks.sees({ whole: false, definitions: [] })
  await marks.compare()
  await expect(marks.make(asked('a', B))).rejects.toThrow('away')
  state.fault = undefined
  marks.sees({ whole: false, definitions: [] })
  await marks.compare()
  await seen(marks, { a: A })
  expect((await marks.make(asked('a', A))).tool).not.toBe(before)
  expect(state.logged).toEqual(['the marks of files could not be compared'])
})

test(`the marks of ${MARKED_TOOLS_MAX} tools are kept, the oldest make room`, async () => {
  const { start } = marksOver()
  const marks = start()
  const names = Array.from({ length: MARKED_TOOLS_MAX + 1 }, (_, at) => `t${at}`)
  await seen(marks, Object.fromEntries(names.map((name) => [name, A])))
  for (const name of names) await marks.make(asked(name, A))
  const kept = await Promise.all(['t0', 't1', names.at(-1) ?? ''].map((name) => marks.find(asked(name, A))))
  expect(kept.map(({ tool: mark }) => mark !== undefined)).toEqual([false, true, true])
})

test('of a text that is no marks nothing is known', async () => {
  const { start, set } = marksOver()
  await set('["no marks"]')
  const marks = start()
  await seen(marks, { a: A })
  expect((await marks.find(asked('a', A))).tool).toBeUndefined()
  expect((await marks.make(asked('a', A))).tool).toBeDefined()
})
