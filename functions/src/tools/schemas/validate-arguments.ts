import type { Digest, JsonObject, JsonValue, ToolDefinition } from '@toolrack/contract'
import { completeParameters } from '@toolrack/contract'
import type { ValidateFunction } from 'ajv'
import { LRUCache } from 'lru-cache'
import { argumentFaults } from './argument-faults.ts'
import { enforceableSchema } from './enforceable-schema.ts'
import { expandedWeight } from './expanded-weight.ts'
import { anonymous, draftOf, newCompiler } from './schema-draft.ts'

/** Arguments, and the stored text of the definition that they are for. */
export type ArgumentQuestion = {
  readonly digest: Digest
  readonly text: string
  readonly arguments: JsonObject
}

export type ArgumentReport = {
  /** Sentences for the caller, without a value of theirs; none if the arguments fit. */
  readonly faults: readonly string[]
}

/** Values of the schemas whose validators are kept: 800 ordinary schemas, or 25 MB of the costliest that were found. */
const VALUES_KEPT = 20_000

/**
 * The most errors that are collected: 40 MB. There are at most as many as values of the schema times values of the
 * arguments, because no value is checked against one part of a schema twice. If there could be more, only the first
 * fault is reported.
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

/** Checks arguments, and compiles each schema once. It may take long or never end, unless the work is known to be light. */
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
