import { completeParameters, type Digest, type JsonObject, type ToolDefinition } from '@toolrack/contract'
import type { ValidateFunction } from 'ajv'
import { LRUCache } from 'lru-cache'
import { argumentFaults } from './argument-faults.ts'
import { enforceableSchema } from './enforceable-schema.ts'
import { expandedWeight, valuesIn } from './expanded-weight.ts'
import { anonymous, draftOf, newCompiler } from './schema-draft.ts'

/** The arguments of a call, and the stored text of the tool's definition. */
export type ArgumentQuestion = {
  readonly digest: Digest
  readonly text: string
  readonly arguments: JsonObject
}

export type ArgumentReport = {
  /** Sentences for the caller about faults of the arguments. They repeat no value that was sent. Empty if there are no faults. */
  readonly faults: readonly string[]
}

/**
 * The most schema values in all kept validators together. These are 800 ordinary schemas. With the most expensive schemas that
 * were found, they take 25 MB.
 */
const VALUES_KEPT = 20_000

/**
 * The most errors that a check may collect: 100,000 errors take 40 MB. If a check could have more errors, only the first one is
 * reported.
 */
const ERRORS_MAX = 100_000

type Known = {
  readonly parameters: JsonObject
  readonly weight: number
  readonly compile: (reported: Reported) => ValidateFunction
  readonly validators: { [reported in Reported]?: ValidateFunction }
}

/** The errors that a validator reports. */
type Reported = 'all' | 'first'

/**
 * Makes the function that checks arguments. It compiles each schema once. A check may take minutes or never end, unless
 * `light-work.ts` admits it.
 */
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
      compile: (reported) => newCompiler(draft, { allErrors: reported === 'all' }).compile(schema),
      validators: {},
    }
    known.set(digest, made)
    return made
  }

  return function validateArguments(question, values = valuesIn(question.arguments)) {
    const { parameters, weight, validators, compile } = knownOf(question)
    const reported = weight * values <= ERRORS_MAX ? 'all' : 'first'
    const validate = (validators[reported] ??= compile(reported))
    if (validate(question.arguments)) return { faults: [] }
    return { faults: argumentFaults(validate.errors ?? [], question.arguments, parameters) }
  }
}
