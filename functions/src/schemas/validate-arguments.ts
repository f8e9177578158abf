import type { JsonObject, ToolDefinition } from '@toolrack/contract'
import { completeParameters } from '@toolrack/contract'
import type { AnySchema, ValidateFunction } from 'ajv'
import { LRUCache } from 'lru-cache'
import type { ArgumentQuestion, ArgumentReport } from './argument-checker.ts'
import { argumentFaults } from './argument-faults.ts'
import { enforceableSchema } from './enforceable-schema.ts'
import { anonymous, dialectOf, newAjv } from './schema-dialect.ts'

/** Validators that a worker keeps. */
const VALIDATORS_MAX = 1_000

type Known = {
  readonly parameters: JsonObject
  readonly validate: ValidateFunction
  readonly forget: () => void
}

/** Checks arguments, compiling each schema once. Runs in the argument worker: it may take long, or never end. */
export function createArgumentValidator(): (question: ArgumentQuestion) => ArgumentReport {
  // Ajv keeps what it has compiled until it is told to forget it.
  const known = new LRUCache<string, Known>({ max: VALIDATORS_MAX, dispose: ({ forget }) => forget() })
  const instances = { 'draft-07': newAjv('draft-07'), '2020-12': newAjv('2020-12') }

  function validatorOf({ digest, text }: ArgumentQuestion): Known {
    const found = known.get(digest)
    if (found) return found
    const { parameters: written } = (JSON.parse(text) as ToolDefinition).function
    const parameters = completeParameters(written)
    const ajv = instances[dialectOf(parameters) ?? '2020-12']
    const schema = enforceableSchema(anonymous(parameters)).schema as AnySchema
    const made = { parameters, validate: ajv.compile(schema), forget: () => void ajv.removeSchema(schema) }
    known.set(digest, made)
    return made
  }

  return function validateArguments(question) {
    const { parameters, validate } = validatorOf(question)
    if (validate(question.arguments)) return { faults: [] }
    return { faults: argumentFaults(validate.errors ?? [], question.arguments, parameters) }
  }
}
