import { afterAll, expect, test } from '@jest/globals'
import type { InvocationResult } from '@toolrack/contract'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const WATCH = fileURLToPath(new URL('../support/kill-at-place.ts', import.meta.url))

const folder = temporaryFolder()
const file = (name: string): string => join(folder.path, name)
const lines = (name: string): readonly string[] =>
  existsSync(file(name)) ? readFileSync(file(name), 'utf8').split('\n').slice(0, -1) : []
/** Kills the server at this place of the next call. */
const killAt = (place: string): void => writeFileSync(file('place'), place)
const executionsOf = (text: string): number => lines('executions').filter((line) => line === text).length

killAt('')
writeFileSync(file('rules.json'), JSON.stringify({ rules: [{ effect: 'ask', tool: 'ECHO' }] }))
const server = await Server.start({
  env: {
    NODE_OPTIONS: `--import=${WATCH}`,
    KILL_FOLDER: folder.path,
    TOOLRACK_RULES_FILE: file('rules.json'),
    // With it, every step that a call can have is there.
    TOOLRACK_AUDIT: 'required',
  },
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})

type Sent = { readonly text: string; readonly approval?: string; readonly key?: string }

async function invoke({ text, approval, key }: Sent): Promise<InvocationResult> {
  const answer = await server.fetch('/workflows/tools/invoke', {
    method: 'POST',
    headers: key === undefined ? {} : { 'Idempotency-Key': key },
    body: JSON.stringify({ name: 'ECHO', arguments: { text }, approval }),
  })
  return (await answer.json()) as InvocationResult
}

/** How the call ended: run now, replayed, or a code. */
async function endOf(sent: Sent): Promise<string> {
  const result = await invoke(sent)
  if (result.resultType === 'failure') return result.code
  return result.meta.replayed ? 'replayed' : 'run'
}

/** A call with a key and an approval, whose arguments a user has edited. */
async function approvedCall(text: string): Promise<Sent & { readonly approval: string }> {
  const { meta } = await invoke({ text })
  const approval = meta.approval?.id ?? ''
  const decided = await server.fetch(`/workflows/approvals/${approval}`, {
    method: 'POST',
    headers: server.approver,
    body: JSON.stringify({ decision: 'once', arguments: { text: edited(text) } }),
  })
  expect(decided.status).toBe(200)
  return { text, approval, key: `key of ${text}` }
}

const edited = (text: string): string => `edited ${text}`

async function json(path: string): Promise<Record<string, unknown>> {
  const answer = await server.fetch(path, { headers: server.approver })
  return (await answer.json()) as Record<string, unknown>
}

/**
 * The places that one call reaches, and a digest of what a kill would leave at each. A killed process leaves nothing but files, so
 * a kill at a place with the same files as at the place before is the same kill again.
 */
async function placesOfACall(text: string) {
  const call = await approvedCall(text)
  for (const name of ['reached', 'left']) rmSync(file(name), { force: true })
  killAt('nowhere')
  expect(await endOf(call)).toBe('run')
  killAt('')
  const [places, left] = [lines('reached'), lines('left')]
  const different = places.filter((_place, at) => at === 0 || left[at] !== left[at - 1])
  return { places, left, different, stored: places.filter((place) => place.startsWith('after commit')) }
}

/** On a busy machine, a record of an earlier request can be written during the call. Then another call is looked at. */
async function placesOfACallAlone() {
  for (let attempt = 1; ; attempt += 1) {
    const found = await placesOfACall(`whole ${attempt}`)
    if (attempt === 5 || found.stored.every((place) => found.different.includes(place))) return found
  }
}
const { places, left, different: differentPlaces, stored } = await placesOfACallAlone()
/** The names of the steps, as the service itself has made them from `steps.ts`. */
const steps = lines('onions')
  .map((line) => JSON.parse(line) as readonly string[])
  .reduce((longest, names) => (names.length > longest.length ? names : longest), [])

test('a call with a key and an approval passes every step of the service, and commits', () => {
  expect(steps.length).toBeGreaterThan(10)
  const around = steps.flatMap((name) => [`before: ${name}`, `after: ${name}`])
  expect(around.filter((place) => !places.includes(place))).toEqual([])
  expect(stored.length).toBeGreaterThanOrEqual(6)
  expect(new Set(places).size).toBe(places.length)
  expect(left).toHaveLength(places.length)
  expect(differentPlaces).toEqual(expect.arrayContaining([...stored, 'in the run']))
})

function indexOf(place: string): number {
  const index = places.indexOf(place)
  if (index === -1) throw new Error(`no call reaches the place '${place}': ${places.join(', ')}`)
  return index
}

test.each(differentPlaces)('kill -9 %s', async (place) => {
  const text = `killed ${place}`
  const call = await approvedCall(text)
  rmSync(file('reached'), { force: true })
  killAt(place)
  const [, { signal }] = await Promise.all([expect(invoke(call)).rejects.toThrow(), server.ended()])
  expect([signal, lines('reached').at(-1)]).toEqual(['SIGKILL', place])
  killAt('')
  await server.restart()

  const at = indexOf(place)
  const isClaimed = at >= indexOf('after commit 1 of: run at most once')
  const isTaken = at >= indexOf('after commit 1 of: await the approval')
  const hasRun = at >= indexOf('in the run')
  const isKept = at >= indexOf('after commit 2 of: run at most once')
  const runs = () => executionsOf(edited(text))
  expect(runs()).toBe(hasRun ? 1 : 0)
  const { status } = await json(`/workflows/approvals/${call.approval}`)
  expect(status).toBe(isTaken ? 'used' : 'approved')

  // The same call has an end, which stays.
  const later = isClaimed && !isKept ? 'UNKNOWN_OUTCOME' : 'replayed'
  expect([await endOf(call), await endOf(call)]).toEqual([isClaimed ? later : 'run', later])
  // The approval of a call that was lost before it was taken is still there, and no other is.
  const end = await endOf({ ...call, key: `other ${text}` })
  expect(end).toBe(isClaimed && !isTaken ? 'run' : 'APPROVAL_CONFLICT')
  // Between the moment at which the approval is taken and the run, nobody can know. Then nothing runs.
  expect(runs()).toBe(isTaken && !hasRun ? 0 : 1)
  expect(await json('/workflows/audit/verify')).toMatchObject({ ok: true, fault: null })
})
