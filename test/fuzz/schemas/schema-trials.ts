import { completeParameters, definitionDigest, isJsonObject } from '@toolrack/contract'
import type { JsonObject, ToolDefinition } from '@toolrack/contract'
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { isDeepStrictEqual } from 'node:util'
import { admitSchema } from '../../../functions/src/catalog/schemas/admit-schema.ts'
import { ArgumentValidator } from '../../../functions/src/catalog/schemas/argument-validator.ts'
import { enforceableSchema } from '../../../functions/src/catalog/schemas/enforceable-schema.ts'
import { lightArguments, lightDefinition } from '../../../functions/src/catalog/schemas/light-work.ts'
import { anonymous, draftOf, newCompiler } from '../../../functions/src/catalog/schemas/schema-draft.ts'
import { SchemaCompilers } from '../../../functions/src/catalog/schemas/schema-compilers.ts'
import type {
  ArgumentQuestion,
  ArgumentReport,
} from '../../../functions/src/catalog/schemas/validate-arguments.ts'
import { WorkerProcess } from '../../../functions/src/catalog/schemas/worker-process.ts'
import type { WorkerAnswer } from '../../../functions/src/catalog/schemas/worker-process.ts'
import { tool } from '../../support/definition-changes.ts'
import type { Fault } from '../rounds.ts'
import { countedValues } from './counted-values.ts'
import type { SchemaCase } from './schema-cases.ts'

const WORKER = new URL('../../../functions/src/catalog/schemas/argument-worker.ts', import.meta.url)
/** Estimated work, as `light-work.ts` counts it, beyond which nothing is checked in the service. */
const WORK_MAX = 2_000_000
const ERRORS_MAX = 20_000
/** Calls of a definition that its own process checks before the service checks any. */
const CALLS_BEFORE = 2
/** A question that is not answered after so long is a finding: a deadline of 2 s, twice the start of a process, and room. */
const ANSWER_MS_MAX = 60_000
/** Nobody's share is counted here. */
const SERVICE = { user: null }

/** Asks about schemas and arguments in every way in which the service does, and compares. */
export class SchemaTrials implements AsyncDisposable {
  readonly numbers: Record<string, number> = {}
  readonly #schemas = new SchemaCompilers()
  readonly #validator = new ArgumentValidator()
  readonly #worker = new WorkerProcess<ArgumentQuestion, ArgumentReport>(WORKER, { deadlineMs: 1_000 })

  async attempt({ parameters: sent, argumentLists }: SchemaCase): Promise<Fault | undefined> {
    const admission = await inTime(admitSchema(sent, this.#schemas.own))
    if (!admission) return { kind: 'an admission is not answered', detail: '' }
    if (admission.faults.length > 0) {
      this.#count('schemas refused')
      return undefined
    }
    this.#count('schemas admitted')
    const parameters = admission.schema
    const small = tool('fuzzed')
    const definition: ToolDefinition = { ...small, function: { ...small.function, parameters } }
    const text = JSON.stringify(definition)
    const asked = { digest: definitionDigest(definition), text }
    const light = lightDefinition(text)
    if (light)
      for (let call = 0; call < CALLS_BEFORE; call += 1) await this.#validator.validate(asked, {}, SERVICE)
    for (const given of argumentLists) {
      // As a request brings them: through a text.
      const args = JSON.parse(JSON.stringify(given)) as JsonObject
      const answer = await inTime(this.#worker.answer({ ...asked, arguments: args }))
      if (!answer) return { kind: 'a check of arguments is not answered', detail: JSON.stringify(args) }
      if ('fault' in answer) {
        this.#count('checks that were given up')
        continue
      }
      this.#count(answer.report.faults.length === 0 ? 'arguments that fit' : 'arguments refused')
      const fault =
        (await this.#lightFault(asked, args, answer)) ??
        this.#plainFault(parameters, args, answer, admission.unenforced.length > 0)
      if (fault) return fault
    }
    return undefined
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#schemas.close()
    await this.#validator.close()
    await this.#worker.close()
  }

  /** What the service checks itself is little work, and comes to the same sentences. */
  async #lightFault(
    asked: Pick<ArgumentQuestion, 'digest' | 'text'>,
    args: JsonObject,
    answer: WorkerAnswer<ArgumentReport>,
  ): Promise<Fault | undefined> {
    const light = lightDefinition(asked.text)
    const values = light && lightArguments(args, light)
    if (!light || values === undefined) return undefined
    this.#count('checks in the service')
    const here = await this.#validator.validate(asked, args, SERVICE)
    if (!isDeepStrictEqual({ report: here }, answer))
      return {
        kind: 'the service and its process find different faults',
        detail: JSON.stringify({ here, answer }),
      }
    const { parameters } = (JSON.parse(asked.text) as ToolDefinition).function
    const complete = completeParameters(parameters)
    const validate = newCompiler(draftOf(complete) ?? '2020-12', { allErrors: true }).compile(
      enforceableSchema(anonymous(complete)).schema,
    )
    const counted = countedValues(args)
    validate(counted.value)
    const errors = validate.errors?.length ?? 0
    const estimate = light.characters * weightOf(args)
    this.#most('errors of a check in the service, at most', errors)
    this.#most('looks at values in it, at most', counted.touches())
    this.#most('looks for 1,000 of the estimated work, at most', (1_000 * counted.touches()) / estimate)
    if (errors > light.weight * values || errors > ERRORS_MAX)
      return {
        kind: 'a check in the service has more errors than were estimated',
        detail: `${errors} of ${light.weight * values}`,
      }
    if (counted.touches() > estimate || estimate > WORK_MAX)
      return {
        kind: 'a check in the service is more work than was estimated',
        detail: `${counted.touches()} of ${estimate}`,
      }
    return undefined
  }

  /** Plain Ajv, with the patterns of JavaScript, says the same of what is enforced; of the author's schema it never refuses less. */
  #plainFault(
    parameters: JsonObject,
    args: JsonObject,
    answer: WorkerAnswer<ArgumentReport>,
    isRelaxed: boolean,
  ): Fault | undefined {
    if (!('report' in answer)) return undefined
    const fits = answer.report.faults.length === 0
    const complete = completeParameters(parameters)
    const enforced = plainAnswer(enforceableSchema(anonymous(complete)).schema, complete, args)
    const written = plainAnswer(anonymous(complete), complete, args)
    if (enforced === undefined || written === undefined) this.#count('schemas that plain Ajv does not take')
    const detail = JSON.stringify({ args, faults: answer.report.faults })
    if (enforced !== undefined && enforced !== fits)
      return {
        kind: `plain Ajv ${enforced ? 'takes' : 'refuses'} what the check does not, by what is enforced`,
        detail,
      }
    if (written === true && !fits)
      return { kind: 'the check refuses what the schema of the author takes', detail }
    if (written === false && fits && !isRelaxed)
      return { kind: 'the check takes what the schema of the author refuses', detail }
    return undefined
  }

  #count(what: string): void {
    this.numbers[what] = (this.numbers[what] ?? 0) + 1
  }

  #most(what: string, value: number): void {
    this.numbers[what] = Math.max(this.numbers[what] ?? 0, Math.round(value))
  }
}

/** Undefined where Ajv does not take the schema. */
function plainAnswer(schema: JsonObject, whole: JsonObject, args: JsonObject): boolean | undefined {
  // All errors, because Ajv that stops at the first one overlooks a required name that is empty.
  const options = {
    allErrors: true,
    strict: false,
    validateFormats: false,
    logger: false,
    validateSchema: false,
    meta: false,
  } as const
  try {
    const ajv = draftOf(whole) === 'draft-07' ? new Ajv(options) : new Ajv2020(options)
    return ajv.compile(schema)(args)
  } catch {
    return undefined
  }
}

/** What a value weighs in the estimate of time: its characters, those of its name, and 8. */
function weightOf(value: unknown): number {
  const own = 8 + (typeof value === 'string' ? value.length : 0)
  if (Array.isArray(value)) return value.reduce<number>((sum, below) => sum + weightOf(below), own)
  if (!isJsonObject(value)) return own
  return Object.entries(value).reduce((sum, [name, below]) => sum + name.length + weightOf(below), own)
}

async function inTime<T>(answer: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ANSWER_MS_MAX)
  })
  return Promise.race([answer, late]).finally(() => clearTimeout(timer))
}
