import type { Digest, JsonObject, JsonValue, ToolDefinition } from '@toolrack/contract'
import { completeParameters } from '@toolrack/contract'
import type { ValidateFunction } from 'ajv'
import { LRUCache } from 'lru-cache'
import { argumentFaults } from './argument-faults.ts'
import { enforceableSchema } from './enforceable-schema.ts'
import { expandedWeight } from './expanded-weight.ts'
import { anonymous, draftOf, newCompiler } from './schema-draft.ts'

/** The arguments of a call, and the stored text of the tool's definition. */
export type ArgumentQuestion = {
  readonly digest: Digest
  readonly text: string
  readonly arguments: JsonObject
}

export type ArgumentReport = {
  /** Sentences for the caller. They contain no value that the caller sent. Empty if the arguments fit. */
  readonly faults: readonly string[]
}

/**
 * How many schema values the kept validators may have together. This is enough for 800 ordinary schemas; of the costliest
 * schemas that were found it is 25 MB.
 */
const VALUES_KEPT = 20_000

/**
 * How many errors a check may collect: 100,000 take 40 MB. There are never more errors than values of the schema
 * times values of the arguments, because no value is checked twice against the same part of a schema. If that product
 * is larger, only the first fault is reported.
 */
const ERRORS_MAX = 100_000

type Known = {
  readonly parameters: JsonObject
  /** JSON values of the schema, with every reference written out. */
  readonly weight: number
  readonly compile: (tells: Tells) => ValidateFunction
  readonly validators: { [tells in Tells]?: ValidateFunction }
}

type Tells = 'all' | 'first'

/** Checks arguments, and compiles each schema once. A check may take long or never end, unless `light-work.ts` admits it. */
export function createValidateArguments(): (question: ArgumentQuestion, values?: number) => ArgumentReport {
  const known = new LRUCache<string, Known>({
    maxSize: VALUES_KEPT,
    sizeCalculation: ({ weight }) => Math.min(weight, VALUES_KEPT),
  })

  function knownOf({ digest, text }: ArgumentQuestion): Known {
    const found = known.get(digest)
    if (found) return found
    const parameters = completeParameters((JSON.parse(text) as ToolDefinition).function.parameters)
    const draft = draftOf(parameters) ?? '2020-12'
    const { schema } = enforceableSchema(anonymous(parameters))
    const made: Known = {
      parameters,
      weight: expandedWeight(parameters).weight,
      compile: (tells) => newCompiler(draft, { allErrors: tells === 'all' }).compile(schema),
      validators: {},
    }
    known.set(digest, made)
    return made
  }

  return function validateArguments(question, values = valuesIn(question.arguments)) {
    const { parameters, weight, validators, compile } = knownOf(question)
    const tells = weight * values <= ERRORS_MAX ? 'all' : 'first'
    const validate = (validators[tells] ??= compile(tells))
    if (validate(question.arguments)) return { faults: [] }
    return { faults: argumentFaults(validate.errors ?? [], question.arguments, parameters) }
  }
}

function valuesIn(args: JsonObject): number {
  let values = 0
  const pending: JsonValue[] = [args]
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    values += 1
    if (typeof value !== 'object' || value === null) continue
    for (const below of Object.values<JsonValue>(value)) pending.push(below)
  }
  return values
}
