import type { JsonObject, JsonValue } from '@toolrack/contract'
import { isJsonObject } from '@toolrack/contract'
import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import { doublingBomb, greedySchema, slowSchema } from '../../support/schema-shapes.ts'
import { changedJson, jsonChanges } from '../json-changes.ts'
import { WatchedService } from '../process/watched-service.ts'
import type { Fault } from '../rounds.ts'

/** A schema and arguments that are tried to be made costlier. */
type Costly = { readonly parameters: JsonObject; readonly args: JsonObject }

/** What an answer may take: the deadline of a schema, the start of a process twice, and the start of the next. */
const ANSWER_MS_MAX = 40_000
/** What the service may keep after all of it, beside what it had. */
const KEPT_BYTES_MAX = 64 * 1024 * 1024
/** Steps without a costlier one before the search begins elsewhere. */
const PATIENCE = 12
const MB = 1024 * 1024

const list = (length: number, of: (index: number) => JsonValue): JsonValue =>
  Array.from({ length }, (_, index) => of(index))
const oneList = (items: JsonObject): JsonObject => ({
  type: 'object',
  properties: { l: { type: 'array', ...items } },
})

/** Where a search begins: schemas that are costly to compile, and arguments that are costly to check. */
const BEGINNINGS: readonly Costly[] = [
  { parameters: slowSchema(), args: { list: list(300, () => 'abc') } },
  { parameters: greedySchema(), args: { text: 'x'.repeat(1_000) } },
  { parameters: { type: 'object', ...doublingBomb(8) }, args: { a: { a: { b: 1 } } } },
  { parameters: oneList({ uniqueItems: true }), args: { l: list(3_000, (index) => ({ a: [index] })) } },
  { parameters: oneList({ items: { anyOf: list(60, () => false) } }), args: { l: list(300, () => 1) } },
  {
    parameters: oneList({ items: { type: 'string', pattern: '(x?){30}y' } }),
    args: { l: list(200, () => 'x'.repeat(200)) },
  },
  {
    parameters: oneList({ contains: { const: 1 }, unevaluatedItems: false }),
    args: { l: list(2_000, (index) => index) },
  },
  {
    parameters: { type: 'object', required: list(300, (index) => `n${index}`), unevaluatedProperties: false },
    args: {},
  },
]

const heavy: fc.Arbitrary<JsonValue> = fc.constantFrom<JsonValue>(
  { uniqueItems: true },
  { pattern: 'x{0,1000}x{0,1000}' },
  { pattern: '(?i)\\PL\\PL\\PL' },
  { pattern: '(x+x+)+y' },
  { anyOf: list(40, (index) => ({ const: index })) },
  { oneOf: list(40, () => ({ type: 'object', required: ['a', 'b'] })) },
  { allOf: list(40, () => ({ not: {} })) },
  { unevaluatedProperties: { not: {} } },
  { patternProperties: { '^a': false, b$: false, '.*': {} } },
  { propertyNames: { pattern: '^(a|b)*$' } },
  { enum: list(200, (index) => ({ a: index })) },
  { contains: { type: 'integer' }, minContains: 100 },
  list(2_000, (index) => index),
  list(500, (index) => ({ a: index, b: [index] })),
  'x'.repeat(10_000),
  { a: { a: { a: { a: [1, 2, 3] } } } },
)
const mutation = fc.record({ schema: jsonChanges(heavy, 2), args: jsonChanges(heavy, 2) })

/** Looks for what costs the service most, on a real one: a change that makes it costlier is kept. */
export class CostClimb implements AsyncDisposable {
  readonly numbers: Record<string, number> = {}
  readonly #service: WatchedService
  readonly #bytesAtFirst: number
  #seed: number
  #best: Costly & { readonly score: number } = { ...first(0), score: 0 }
  #sinceBest = PATIENCE

  private constructor(service: WatchedService, bytesAtFirst: number, seed: number) {
    this.#service = service
    this.#bytesAtFirst = bytesAtFirst
    this.#seed = seed
  }

  static async start(seed: number): Promise<CostClimb> {
    const service = await WatchedService.start({ args: ['--no-python=The fuzzer runs no module here.'] })
    const { heapBytes, externalBytes } = await service.inspect()
    return new CostClimb(service, heapBytes + externalBytes, seed)
  }

  /** So many steps; what is wrong after them. */
  async steps(count: number): Promise<readonly Fault[]> {
    try {
      return await this.#steps(count)
    } catch (error) {
      // It cannot be asked any more; that its process has ended is heard a moment later.
      return [
        {
          kind: 'the service has ended',
          detail: `${String(error)} ${this.#service.log.slice(-2_000)}`,
        },
      ]
    }
  }

  async #steps(count: number): Promise<readonly Fault[]> {
    const faults: Fault[] = []
    for (let step = 0; step < count && this.#service.isAlive; step += 1) {
      const tried = this.#next()
      const { score, fault } = await this.#measure(tried)
      if (fault) faults.push({ ...fault, detail: `${fault.detail} ${JSON.stringify(tried).slice(0, 2_000)}` })
      this.#sinceBest += 1
      if (score <= this.#best.score) continue
      this.#best = { ...tried, score }
      this.#sinceBest = 0
    }
    if (!this.#service.isAlive)
      return [...faults, { kind: 'the service has ended', detail: this.#service.log.slice(-2_000) }]
    const { heapBytes, externalBytes } = await this.#service.inspect()
    const kept = heapBytes + externalBytes - this.#bytesAtFirst
    this.#most('memory that the service keeps after costly schemas, MB at most', kept / MB)
    return kept > KEPT_BYTES_MAX
      ? [...faults, { kind: 'memory of the service does not come back', detail: `${kept} bytes` }]
      : faults
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#service.stop()
  }

  #next(): Costly {
    this.#seed += 1
    if (this.#sinceBest >= PATIENCE) {
      this.#sinceBest = 0
      this.#best = { ...first(this.#seed), score: 0 }
      return this.#best
    }
    const [change] = fc.sample(mutation, { seed: this.#seed, numRuns: 1 })
    const parameters = changedJson(this.#best.parameters, change?.schema ?? [])
    const args = changedJson(this.#best.args, change?.args ?? [])
    return {
      parameters: isJsonObject(parameters) ? parameters : this.#best.parameters,
      args: isJsonObject(args) ? args : this.#best.args,
    }
  }

  /** Milliseconds of the admission and of the checks, and a look at what they have done to the service. */
  async #measure({ parameters, args }: Costly): Promise<{ readonly score: number; readonly fault?: Fault }> {
    const definition = {
      name: 'costly',
      description: 'Costs.',
      parameters,
      runner: { kind: 'builtin', builtin: 'echo' },
    }
    const written = await this.#ask('PUT', '/workflows/tools/defs/costly', definition)
    if (typeof written === 'string') return { score: 0, fault: { kind: written, detail: 'by an admission' } }
    this.#most('an admission took, ms at most', written.ms)
    this.numbers['costly schemas tried'] = (this.numbers['costly schemas tried'] ?? 0) + 1
    let score = written.ms
    // The third call is the first that the service may check itself.
    for (let call = 0; call < 3 && written.status < 300; call += 1) {
      const called = await this.#ask('POST', '/workflows/tools/invoke', { name: 'costly', arguments: args })
      if (typeof called === 'string') return { score, fault: { kind: called, detail: 'by a check' } }
      this.#most('a call took, ms at most', called.ms)
      score += called.ms
    }
    for (const pid of childrenOf(this.#service.pid))
      this.#most('memory of a process of checks, MB at most', peakBytes(pid) / MB)
    if (!this.#service.isAlive) return { score }
    const { delayMsMax } = await this.#service.inspect()
    this.#most('event loop of the service stood still during costly checks, ms at most', delayMsMax)
    return { score: score + 10 * delayMsMax }
  }

  async #ask(
    method: string,
    path: string,
    body: JsonObject,
  ): Promise<{ readonly status: number; readonly ms: number } | string> {
    const startedMs = performance.now()
    try {
      const answer = await fetch(this.#service.url + path, {
        method,
        body: JSON.stringify(body),
        headers: { Authorization: `Bearer ${this.#service.token}` },
        signal: AbortSignal.timeout(ANSWER_MS_MAX),
      })
      const text = await answer.text()
      if (answer.status >= 500 || answer.status === 429)
        return `a costly schema was answered ${answer.status}: ${text.slice(0, 200)}`
      return { status: answer.status, ms: performance.now() - startedMs }
    } catch (error) {
      return `a costly schema was not answered: ${String(error)}`
    }
  }

  #most(what: string, value: number): void {
    this.numbers[what] = Math.max(this.numbers[what] ?? 0, Math.round(value))
  }
}

function first(index: number): Costly {
  return BEGINNINGS[index % BEGINNINGS.length] ?? { parameters: {}, args: {} }
}

/** Of a system that tells; none elsewhere. */
function childrenOf(pid: number): readonly number[] {
  return readOr(`/proc/${pid}/task/${pid}/children`)
    .split(' ')
    .filter((text) => text !== '')
    .map(Number)
}

function peakBytes(pid: number): number {
  return 1_024 * Number(/^VmHWM:\s+(\d+) kB$/m.exec(readOr(`/proc/${pid}/status`))?.[1] ?? 0)
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
