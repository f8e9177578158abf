import { canonicalJson, type JsonObject } from './json.ts'
import { sha256Hex } from './sha256.ts'
import { completeParameters, type ToolDefinition } from './tool-definition.ts'

/** `sha256:` and 64 lower-case hex digits. */
export type Digest = `sha256:${string}`

/** Identifies a definition by everything that a caller relies on. */
export function definitionDigest(definition: ToolDefinition): Digest {
  return `sha256:${sha256Hex(digestedText(definition))}`
}

/**
 * The text that the digest is the SHA-256 of: the canonical JSON of name, description, parameters (as listed),
 * annotations, runner and limits. A change of tags, category or `sealed` does not change it.
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
