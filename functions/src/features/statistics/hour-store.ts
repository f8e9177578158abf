import { ERROR_CODES, isToolName, type ErrorCode } from '@toolrack/contract'
import { put, type Collection, type Ref } from '../../documents/collection.ts'
import type { Documents, Kept } from '../../documents/documents.ts'
import { either, isNull, isText, object, recordOf, type Test } from '../../value-shape.ts'
import { addCounts, type ToolCount, type ToolCounts } from './tool-count.ts'

export const HOUR_MS = 60 * 60 * 1_000

/**
 * How long the counts of an hour are kept, in milliseconds. The ranks of a day count all hours of the day before. Two hours more
 * are for clocks that differ.
 */
const KEPT_MS = 50 * HOUR_MS

/** The most instances whose last part is known in the document of an hour. An instance of Cloud Functions lives for about an hour. */
const INSTANCES_MAX = 200

/** What one instance has counted for an owner in an hour. */
export type HourPart = {
  /** The user, or EVERYBODY for all users together. */
  readonly owner: string
  /** When the hour begins, in milliseconds since 1970. */
  readonly hourMs: number
  /** A number of the instance that grows with each part. */
  readonly number: number
  readonly tools: ToolCounts
}

/** What is stored of an owner and an hour. `parts` has the number of the last part that was added, by instance. */
export type KeptHour = Pick<HourPart, 'hourMs' | 'tools'> & { readonly parts: ReadonlyMap<string, number> }

type Fields = {
  /** When the hour begins: ISO 8601, UTC. */
  readonly hour: string
  readonly parts: readonly (readonly [instance: string, number: number])[]
  readonly tools: readonly (ToolCount & { readonly name: string })[]
}

const HOURS: Collection<Fields> = {
  name: 'statistics',
  owner: 'both',
  // The lists are read by `toolsIn` and `partsIn`, which leave out what this version does not know.
  fields: object<Pick<Fields, 'hour'>>({ hour: isText }) as (value: unknown) => value is Fields,
  expires: ({ hour }) => (Date.parse(hour) || 0) + KEPT_MS,
}

/** The beginning of the hour of a time, both in milliseconds since 1970. */
export function hourOf(ms: number): number {
  return Math.floor(ms / HOUR_MS) * HOUR_MS
}

/** Keeps what was called in each hour, for each user and for all users together. */
export class HourStore {
  readonly #documents: Documents

  constructor(documents: Documents) {
    this.#documents = documents
  }

  /**
   * Adds a part, unless it is in the store already. So a part whose write got no answer can be added again. The parts of an
   * instance must be added in the order of their numbers. Rejects as `Documents.change` does.
   */
  add({ owner, hourMs, number, tools }: HourPart, instance: string): Promise<void> {
    const ref = refOf(hourMs)
    return this.#documents.change(owner, [ref], ([found]) => {
      const kept = found && keptIn(found.fields)
      if ((kept?.parts.get(instance) ?? 0) >= number) return { result: undefined }
      const sum: ToolCounts = kept?.tools ?? new Map()
      addCounts(sum, tools)
      const parts = new Map(kept?.parts)
      // The newest comes last.
      parts.delete(instance)
      parts.set(instance, number)
      return { result: undefined, writes: [put(ref, fieldsOf(hourMs, sum, parts))] }
    })
  }

  /** What is stored of these hours of an owner, in their order. Each hour is parsed when it is iterated. */
  async read(owner: string, hours: readonly number[]): Promise<Iterable<KeptHour>> {
    const found = await this.#documents.read(owner, hours.map(refOf))
    return hoursIn(hours, found)
  }
}

function* hoursIn(
  hours: readonly number[],
  found: readonly (Kept<Fields> | undefined)[],
): Generator<KeptHour> {
  for (const [at, hourMs] of hours.entries()) {
    const kept = found[at]
    if (kept) yield { hourMs, ...keptIn(kept.fields) }
  }
}

function refOf(hourMs: number): Ref<Fields> {
  return { of: HOURS, key: textOf(hourMs).slice(0, 'YYYY-MM-DDTHH'.length) }
}

function textOf(hourMs: number): string {
  return new Date(hourMs).toISOString()
}

function fieldsOf(hourMs: number, tools: ToolCounts, parts: ReadonlyMap<string, number>): Fields {
  return {
    hour: textOf(hourMs),
    parts: [...parts].slice(-INSTANCES_MAX),
    tools: Array.from(tools, ([name, count]) => ({ name, ...count })),
  }
}

function keptIn({ tools, parts }: Fields): Omit<KeptHour, 'hourMs'> {
  return { tools: new Map(listIn(tools).flatMap(toolIn)), parts: new Map(listIn(parts).flatMap(partIn)) }
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []
}

function partIn(value: unknown): readonly (readonly [string, number])[] {
  if (!Array.isArray(value)) return []
  const [instance, number] = value as readonly unknown[]
  return isText(instance) && isNumber(number) ? [[instance, number]] : []
}

const isNumber: Test<number> = (value): value is number => Number.isFinite(value) && Number(value) >= 0
const isCode: Test<ErrorCode> = (value): value is ErrorCode =>
  isText(value) && Object.hasOwn(ERROR_CODES, value)

const isNamedCount = object<ToolCount & { readonly name: string }>({
  name: isText,
  calls: isNumber,
  failures: isNumber,
  refused: isNumber,
  lists: isNumber,
  tokens: isNumber,
  lastUsedMs: either(isNull, isNumber),
  lastError: either(isNull, object<NonNullable<ToolCount['lastError']>>({ code: isCode, atMs: isNumber })),
  durations: recordOf(isNumber),
})

/** Parses the count of one tool. Empty if another version of the service has written it in another form. */
function toolIn(value: unknown): readonly (readonly [string, ToolCount])[] {
  if (!isNamedCount(value) || !isToolName(value.name)) return []
  const { name, ...count } = value
  return [[name, count]]
}
