import { expect, test } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import { readFileSync } from 'node:fs'
import { isCheckReport } from '../../functions/src/platform/runner/read-check.ts'
import { vectors, VECTORS_FOLDER } from '../support/vectors.ts'

type Changes = {
  readonly report?: JsonObject
  readonly spec?: JsonObject
  readonly without?: readonly string[]
  readonly withoutInSpec?: readonly string[]
}

const { report: REPORT } = JSON.parse(readFileSync(new URL('check-report.json', VECTORS_FOLDER), 'utf8')) as {
  report: JsonObject & { readonly tools: readonly JsonObject[] }
}

/** The report that a case stands for. */
function reported({ report, spec, without = [], withoutInSpec = [] }: Changes): JsonObject {
  const [first, ...others] = REPORT.tools
  const tools = [except({ ...first, ...spec }, withoutInSpec), ...others]
  return { ...except({ ...REPORT, tools }, without), ...report }
}

function except(object: JsonObject, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))
}

test.each(vectors<Changes, boolean>('check-report'))(
  'the service reads a report exactly where the runner believes it: $title',
  ({ input, expected }) => {
    expect(isCheckReport({ ...reported(input), log: { text: '', truncated: false } })).toBe(expected)
  },
)
