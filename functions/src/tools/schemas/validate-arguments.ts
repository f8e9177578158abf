import type { JsonObject, JsonValue, ToolDefinition } from '@toolrack/contract'
import { completeParameters } from '@toolrack/contract'
import type { ValidateFunction } from 'ajv'
import { LRUCache } from 'lru-cache'
import type { ArgumentQuestion, ArgumentReport } from './argument-checker.ts'
import { argumentFaults } from './argument-faults.ts'
import { enforceableSchema } from './enforceable-schema.ts'
import { expandedWeight } from './expanded-weight.ts'
import { anonymous, newCompiler, dialectOf } from './schema-dialect.ts'

/** Values of the schemas whose validators are kept: 800 schemas of ordinary size, and 25 MB for the costliest that were found. */
const VALUES_KEPT = 20_000

/**
 * Errors that are collected to tell several mistakes at once: 40 MB. Values of a schema times values of arguments is the
 * most that there can be, for no value is held against a part of a schema more than once. Where there could be more, the
 * first mistake is told.
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

/** Checks arguments, compiling each schema once. It may take long, or never end, unless the work is known to be light. */
export function createArgumentValidator(): (question: ArgumentQuestion, values?: number) => ArgumentReport {
  const known = new LRUCache<string, Known>({
    maxSize: VALUES_KEPT,
    sizeCalculation: ({ weight }) => Math.min(weight, VALUES_KEPT),
  })

  function find({ digest, text }: ArgumentQuestion): Known {
    const found = known.get(digest)
    if (found) return found
    const { parameters: written } = (JSON.parse(text) as ToolDefinition).function
    const parameters = completeParameters(written)
    const dialect = dialectOf(parameters) ?? '2020-12'
    const { schema } = enforceableSchema(anonymous(parameters))
    const expanded = expandedWeight(parameters)
    const made: Known = {
      parameters,
      weight: 'weight' in expanded ? expanded.weight : Infinity,
      compile: (tells) => newCompiler(dialect, { allErrors: tells === 'all' }).compile(schema),
      validators: {},
    }
    known.set(digest, made)
    return made
  }

  return function validateArguments(question, values = valuesIn(question.arguments)) {
    const { parameters, weight, validators, compile } = find(question)
    const tells = weight * values <= ERRORS_MAX ? 'all' : 'first'
    const validate = (validators[tells] ??= compile(tells))
    if (validate(question.arguments)) return { faults: [] }
    return { faults: argumentFaults(validate.errors ?? [], question.arguments, parameters) }
  }
}

/** Every value of the arguments, themselves included. */
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
