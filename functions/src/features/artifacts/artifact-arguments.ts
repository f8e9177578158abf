import { isJsonArray, ToolrackError, type JsonObject, type JsonValue } from '@toolrack/contract'
import type { ArtifactSchemas } from '../../catalog/schemas/artifact-schemas.ts'
import type { Pieces } from '../../loop-turn.ts'

/** An argument that names an artifact. `pointer` is its JSON Pointer in the arguments. */
export type ArtifactArgument = { readonly pointer: string; readonly id: string }

/**
 * The most visits of a search for artifacts in the arguments of a call. A visit is one value with one schema. Both come from
 * strangers, and their product can be 100 million. This many visits take about 50 ms.
 */
export const VISITS_MAX = 100_000

type Place = { readonly value: JsonValue; readonly pointer: string; readonly schemas: readonly JsonObject[] }

/**
 * The arguments whose schema says `format: "artifact"`, in their order. The arguments fit the schema. Throws ARGUMENTS_INVALID
 * after VISITS_MAX visits.
 */
export function* artifactArguments(
  schemas: ArtifactSchemas,
  args: JsonObject,
): Pieces<readonly ArtifactArgument[]> {
  const { root } = schemas
  const found: ArtifactArgument[] = []
  const waiting: Place[] = root ? [{ value: args, pointer: '', schemas: [root] }] : []
  let visits = 0
  function count(): void {
    visits += 1
    if (visits > VISITS_MAX) throw new ToolrackError('ARGUMENTS_INVALID', TOO_MUCH)
  }

  for (let place = waiting.pop(); place; place = waiting.pop()) {
    const { value, pointer } = place
    const all = new Set(place.schemas)
    // A set also iterates over what is added meanwhile, so a circle of references ends.
    for (const schema of all) {
      count()
      yield undefined
      for (const one of schemas.sameValue(schema)) all.add(one)
    }
    if (typeof value === 'string') {
      if ([...all].some((schema) => schemas.namesArtifact(schema))) found.push({ pointer, id: value })
      continue
    }
    if (typeof value !== 'object' || value === null) continue
    const containing = [...all].filter((schema) => schemas.contains(schema))
    if (containing.length === 0) continue
    const inside: Place[] = []
    for (const [key, member] of isJsonArray(value) ? value.entries() : Object.entries<JsonValue>(value)) {
      yield undefined
      const own: JsonObject[] = []
      for (const schema of containing) {
        count()
        const one = schemas.inside(schema, key)
        if (one) own.push(one)
      }
      if (own.length > 0) inside.push({ value: member, pointer: `${pointer}/${escaped(key)}`, schemas: own })
    }
    for (const one of inside.toReversed()) waiting.push(one)
  }
  return found
}

const TOO_MUCH =
  'The arguments and the schema of the tool are too large together: the artifacts that the arguments name cannot be found. Nothing was run. Send less, or simplify the schema.'

function escaped(key: number | string): string {
  return typeof key === 'number' ? String(key) : key.replaceAll('~', '~0').replaceAll('/', '~1')
}
