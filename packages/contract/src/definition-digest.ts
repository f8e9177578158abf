import { canonicalJson, type JsonObject } from './json.ts'
import { sha256Hex } from './sha256.ts'
import { completeParameters, type ToolDefinition } from './tool-definition.ts'

/** A text of `sha256:` and 64 lower-case hex digits. */
export type Digest = `sha256:${string}`

/** Computes the digest of a definition. It changes if anything changes on which callers depend. */
export function definitionDigest(definition: ToolDefinition): Digest {
  return `sha256:${sha256Hex(digestedText(definition))}`
}

/**
 * The text from whose SHA-256 the digest is made. It is the canonical JSON of the name, the description, the parameters as a list
 * shows them, the annotations, the runner, the limits and what is done after a failure. Tags, category and `sealed` are not in it.
 */
export function digestedText(definition: ToolDefinition): string {
  const { annotations, runner, limits, onFailure } = definition
  const { name, description, parameters } = definition.function
  const identity = {
    name,
    description,
    parameters: completeParameters(parameters),
    ...(annotations && { annotations }),
    ...(runner && { runner }),
    ...(limits && { limits }),
    ...(onFailure && { onFailure }),
  }
  return canonicalJson(identity as JsonObject)
}
