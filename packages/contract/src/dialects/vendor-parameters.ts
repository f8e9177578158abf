import type { JsonObject } from '../json.ts'
import { completeParameters } from '../listed-tool.ts'
import { arraysWithItems } from './arrays-with-items.ts'
import { currentDraft } from './current-draft.ts'
import { objectSchemas } from './object-schemas.ts'
import { strictParameters } from './strict-parameters.ts'
import { Unfit } from './unfit.ts'
import type { ObjectSchema } from './vendor-tools.ts'
import { rootWrittenOut, writtenOut } from './written-out.ts'

/** A schema as a vendor takes it, and whether that is the listed one. */
export type VendorParameters = { readonly parameters: ObjectSchema; readonly isRewritten: boolean }

/** Each throws `Unfit` where the vendor would refuse the schema, or could not be told what it means. */
export type ToParameters = (parameters: JsonObject) => VendorParameters

/** Beside `type: object` OpenAI refuses these at the root, with or without strictness. */
const OPENAI_ROOT = ['oneOf', 'anyOf', 'allOf', 'enum', 'const', 'not'] as const
const ANTHROPIC_ROOT = ['oneOf', 'anyOf', 'allOf'] as const

/** What each vendor says of the names of parameters, at the root. */
const ANTHROPIC_PARAMETER = /^[A-Za-z0-9_.-]{1,64}$/
const GEMINI_PARAMETER = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/

export const openaiParameters: ToParameters = (written) => {
  const schema = arraysWithItems(rootWrittenOut(today(written)))
  refuseAtRoot(schema, OPENAI_ROOT)
  return completed(schema, written)
}

/** Written out first, so that strictness is decided where a value stands. */
export const openaiStrictParameters: ToParameters = (written) => {
  const { parameters, isRewritten } = completed(writtenOut(today(written)), written)
  refuseAtRoot(parameters, OPENAI_ROOT)
  const strict = strictParameters(parameters)
  return { parameters: strict as ObjectSchema, isRewritten: isRewritten || strict !== parameters }
}

export const anthropicParameters: ToParameters = (written) => {
  const schema = rootWrittenOut(today(written))
  refuseAtRoot(schema, ANTHROPIC_ROOT)
  refuseNames(schema, ANTHROPIC_PARAMETER, 'up to 64 letters, digits, _ . or -')
  return completed(schema, written)
}

export const geminiParameters: ToParameters = (written) => {
  const schema = arraysWithItems(writtenOut(today(written)))
  refuseNames(schema, GEMINI_PARAMETER, 'a letter or _ and up to 63 letters, digits or _')
  return completed(schema, written)
}

export const mcpParameters: ToParameters = (written) => completed(today(written), written)

function today(written: JsonObject): JsonObject {
  return objectSchemas(currentDraft(written))
}

function completed(schema: JsonObject, written: JsonObject): VendorParameters {
  return { parameters: completeParameters(schema) as ObjectSchema, isRewritten: schema !== written }
}

function refuseAtRoot(schema: JsonObject, keywords: readonly string[]): void {
  const found = keywords.find((keyword) => schema[keyword] !== undefined)
  if (found !== undefined)
    throw new Unfit(
      [found],
      `${found} stands at the root, where the vendor takes plain parameters only; put it below one of them`,
    )
}

function refuseNames(schema: JsonObject, allowed: RegExp, rule: string): void {
  const name = Object.keys(schema['properties'] ?? {}).find((one) => !allowed.test(one))
  if (name !== undefined)
    throw new Unfit(['properties', name], `the vendor refuses this parameter's name; it takes ${rule}`)
}
