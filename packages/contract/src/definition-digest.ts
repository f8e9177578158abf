import { canonicalJson } from './canonical-json.ts'
import type { JsonObject } from './json.ts'
import { completeParameters } from './listed-tool.ts'
import { sha256Hex } from './sha256.ts'
import type { ToolDefinition } from './tool-definition.ts'

/** `sha256:` and 64 hex digits. */
export type Digest = `sha256:${string}`

/** The identity of what a caller relies on: the SHA-256 of its text. */
export function definitionDigest(definition: ToolDefinition): Digest {
  return `sha256:${sha256Hex(digestedText(definition))}`
}

/**
 * What is hashed of a definition: the canonical JSON of name, description, parameters (as listed), annotations, runner and
 * limits. Tags, category and `sealed` may change without changing it.
 */
export function digestedText(definition: ToolDefinition): string {
  const { annotations, runner, limits } = definition
  const { name, description, parameters } = definition.function
  const identity = {
    name,
    description,
    parameters: completeParameters(parameters),
    ...(annotations && { annotations }),
    ...(runner && { runner }),
    ...(limits && { limits }),
  }
  return canonicalJson(identity as JsonObject)
}
