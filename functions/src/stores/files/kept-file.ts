import { digestedText, isJsonObject, isToolName } from '@toolrack/contract'
import type { Digest, JsonObject, JsonValue, ToolDefinition, ToolRunner } from '@toolrack/contract'
import { hash } from 'node:crypto'
import { parseObject } from '../../parse-object.ts'
import type { SkippedItem } from '../../catalog/views/layer-source.ts'
import { isShallow } from '../../catalog/definitions/definition-schema.ts'
import type { Normalisation } from '../../catalog/definitions/loose-shape.ts'
import { measureSchema } from '../../catalog/schemas/admit-schema.ts'
import type { Unenforced } from '../../catalog/schemas/enforceable-schema.ts'
import { either, isText, listOf, object, type Test } from '../../value-shape.ts'
import type { DefinitionFile, FiledDefinition } from './read-definition-file.ts'

type KeptDefinition = Omit<FiledDefinition, 'definition' | 'source'>
type KeptSkip = Omit<SkippedItem, 'source'>
type KeptFile = { readonly definitions: readonly KeptDefinition[]; readonly skipped: readonly KeptSkip[] }

/** The part of a file's content that is kept. The rest can be made again from this part and the name of the file. */
export function keptFile({ definitions, skipped }: DefinitionFile): KeptFile {
  return {
    definitions: definitions.map(({ definition: _definition, source: _source, ...kept }) => kept),
    skipped: skipped.map(({ source: _source, ...kept }) => kept),
  }
}

/**
 * Makes the content of a file from the part that was kept. Undefined if this part breaks a rule that protects the service: the
 * shape of a definition, its name, the limits of its schema, or its digest. Only the schema is not compiled again, because this
 * takes much time.
 */
export function readKeptFile(kept: unknown, source: string): DefinitionFile | undefined {
  if (!isKeptFile(kept)) return undefined
  const definitions: FiledDefinition[] = []
  for (const { pointer, text, digest, normalised, unenforced } of kept.definitions) {
    const definition = admissible(text, digest)
    if (!definition) return undefined
    definitions.push({ definition, text, digest, normalised, unenforced, source, pointer })
  }
  // The keys are in the order in which they were written when the file was admitted, because the revision of the layer is a hash
  // of this JSON.
  return { definitions, skipped: kept.skipped.map((item) => ({ source, ...item })) }
}

function admissible(text: string, digest: Digest): ToolDefinition | undefined {
  const definition: unknown = parseObject(text)
  if (!isDefinition(definition)) return undefined
  const { name, parameters } = definition.function
  const { type = 'object' } = parameters
  const isWithinLimits = isToolName(name) && type === 'object' && measureSchema(parameters) === undefined
  // `definitionDigest` would take twice as long, because sha256 of the contract cannot use Node's `hash`.
  const isDigestOf = isWithinLimits && digest === `sha256:${hash('sha256', digestedText(definition))}`
  return isDigestOf ? definition : undefined
}

const isMissing: Test<undefined> = (value) => value === undefined
const isFlag: Test<boolean> = (value) => typeof value === 'boolean'
const isAny = (_value: unknown): _value is JsonValue => true
const isDigest = isText as Test<Digest>
/** True for an object within the limits of unknown fields. The fields of such an object are not checked one by one. */
const isSmallObject = (value: unknown): value is JsonObject => isJsonObject(value) && isShallow(value)

const isDefinition = object<ToolDefinition>({
  type: (value) => value === 'function',
  function: object<ToolDefinition['function']>({
    name: isText,
    description: isText,
    parameters: isJsonObject,
  }),
  runner: either((value): value is ToolRunner => isSmallObject(value) && isText(value['kind']), isMissing),
  category: either(isText, isMissing),
  tags: either(listOf(isText), isMissing),
  annotations: either(isSmallObject, isMissing),
  limits: either(isSmallObject, isMissing),
  onFailure: either(isSmallObject, isMissing),
  sealed: either(isFlag, isMissing),
})

const isKeptFile = object<KeptFile>({
  definitions: listOf(
    object<KeptDefinition>({
      pointer: isText,
      text: isText,
      digest: isDigest,
      normalised: listOf(object<Normalisation>({ pointer: isText, from: isAny, to: isAny })),
      unenforced: listOf(object<Unenforced>({ pointer: isText, reason: isText })),
    }),
  ),
  skipped: listOf(object<KeptSkip>({ pointer: isText, message: isText, name: either(isText, isMissing) })),
})
