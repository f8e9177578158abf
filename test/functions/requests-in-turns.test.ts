import { afterEach, expect, jest, test } from '@jest/globals'
import { isJsonArray, isJsonObject, type JsonValue } from '@toolrack/contract'
import { tool } from '../support/definition-changes.ts'
import { memoryAudit } from '../support/memory-audit.ts'
import {
  ARTIFACT_TEXT,
  IN_REQUESTS,
  OWN_TOOLS,
  SECRET,
  SECRETIVE,
  secretiveRunner,
  type InTurns,
} from '../support/requests-in-turns.ts'
import { routeService } from '../support/route-service.ts'
import { shippedTool } from '../support/shipped-tool.ts'
import { turnsDuring } from '../support/turns-during.ts'

/** A service with the definitions and an artifact of the user, and the revision of the user's list. */
async function service() {
  const parts = { audit: memoryAudit(), runner: secretiveRunner() }
  const ask = await routeService([tool('short'), SECRETIVE, shippedTool('../own/artifacts')], parts)
  const stored = await ask('admin', 'PUT /secrets/API_KEY?layer=global', { body: { value: SECRET } })
  expect(stored).toMatchObject({ status: 204 })
  expect(await ask('ann', 'POST /tools/defs', { body: OWN_TOOLS })).toMatchObject({ status: 200 })
  const { headers } = await ask('ann', 'GET /tools/list')
  const { body } = await ask('ann', 'POST /artifacts', { body: ARTIFACT_TEXT })
  return { ask, revision: headers.get('x-tools-revision') ?? '', artifact: String(body['id']) }
}

const [inTurns, atOnce] = [await service(), await service()]

afterEach(() => {
  jest.restoreAllMocks()
})

const realNow = performance.now.bind(performance)
let mockedMs = 0

/**
 * Lets every piece of work look long, so that a turn follows it. The time of this clock never goes back between two tests.
 * Otherwise a user whom the service has paused in one test would wait for minutes in the next.
 */
function everyPieceIsLong(): void {
  jest.spyOn(performance, 'now').mockImplementation(mockedNow)
}

function mockedNow(): number {
  mockedMs = Math.max(mockedMs, realNow()) + 6
  return mockedMs
}

/** What differs between two services that have done the same. */
const OWN = new Set(['executionTimeMs', 'hash', 'instance', 'invocationId', 'updatedAt'])

function withoutOwn(value: JsonValue): JsonValue {
  if (isJsonArray(value)) return value.map(withoutOwn)
  if (!isJsonObject(value)) return value
  const kept = Object.entries(value).filter(([key]) => !OWN.has(key))
  return Object.fromEntries(kept.map(([key, member]) => [key, withoutOwn(member)]))
}

const UUID = /[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g

async function answerOf(
  { ask, revision, artifact }: typeof inTurns,
  { who = 'ann', request, asked = {} }: InTurns,
) {
  const { body: sent, ...headers } = asked
  const text = typeof sent === 'object' ? JSON.stringify(sent).replaceAll('{artifact}', artifact) : sent
  const answer = await ask(who, request.replace('{revision}', revision), { ...headers, body: text })
  const read = JSON.parse(JSON.stringify(answer.body).replaceAll(UUID, '{id}')) as JsonValue
  return { status: answer.status, body: withoutOwn(read) }
}

test.each(IN_REQUESTS)('$request has the same answer with a turn after each piece', async (row) => {
  const expected = await answerOf(atOnce, row)
  everyPieceIsLong()
  const { result, turns } = await turnsDuring(() => answerOf(inTurns, row))
  expect(expected.status).toBeLessThan(300)
  expect(result).toEqual(expected)
  expect(turns).toBeGreaterThan(2)
})
