import { afterEach, expect, jest, test } from '@jest/globals'
import { isJsonArray, isJsonObject, type JsonValue } from '@toolrack/contract'
import { tool } from '../support/definition-changes.ts'
import { memoryAudit } from '../support/memory-audit.ts'
import {
  IN_REQUESTS,
  OWN_TOOLS,
  SECRET,
  SECRETIVE,
  secretiveRunner,
  type InTurns,
} from '../support/requests-in-turns.ts'
import { routeService } from '../support/route-service.ts'
import { turnsDuring } from '../support/turns-during.ts'

/** A service with the definitions of the user, and the revision of the user's list. */
async function service() {
  const parts = { audit: memoryAudit(), runner: secretiveRunner() }
  const ask = await routeService([tool('short'), SECRETIVE], parts)
  const stored = await ask('admin', 'PUT /secrets/API_KEY?layer=global', { body: { value: SECRET } })
  expect(stored).toMatchObject({ status: 204 })
  expect(await ask('ann', 'POST /tools/defs', { body: OWN_TOOLS })).toMatchObject({ status: 200 })
  const { headers } = await ask('ann', 'GET /tools/list')
  return { ask, revision: headers.get('x-tools-revision') ?? '' }
}

const [inTurns, atOnce] = [await service(), await service()]

afterEach(() => {
  jest.restoreAllMocks()
})

/** Lets every piece of work look long, so that a turn follows it. */
function everyPieceIsLong(): void {
  let nowMs = performance.now()
  jest.spyOn(performance, 'now').mockImplementation(() => (nowMs += 6))
}

/** What differs between two services that have done the same. */
const OWN = new Set(['executionTimeMs', 'hash', 'instance', 'invocationId', 'updatedAt'])

function withoutOwn(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(withoutOwn)
  if (!isJsonObject(value)) return value
  const kept = Object.entries(value).filter(([key]) => !OWN.has(key))
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutOwn(member)]))
}

async function answerOf({ ask, revision }: typeof inTurns, { who = 'ann', request, asked }: InTurns) {
  const { status, body } = await ask(who, request.replace('{revision}', revision), asked)
  return { status, body: withoutOwn(body as JsonValue) }
}

test.each(IN_REQUESTS)('$request has the same answer with a turn after each piece', async (row) => {
  const expected = await answerOf(atOnce, row)
  everyPieceIsLong()
  const { result, turns } = await turnsDuring(() => answerOf(inTurns, row))
  expect(expected.status).toBeLessThan(300)
  expect(result).toEqual(expected)
  expect(turns).toBeGreaterThan(2)
})
