import type { JsonObject, JsonValue } from '@toolrack/contract'
import { isJsonObject, ToolrackError } from '@toolrack/contract'
import { BULK_MAX } from '../../tools/definitions/definition-writer.ts'
import { withFamily } from '../../tools/definitions/loose-shape.ts'

/** One definition, an array of them, or a whole definitions file: `{"family": …, "tools": [ … ]}`. */
export function sentDefinitions(body: JsonValue): readonly JsonValue[] {
  const definitions = isJsonObject(body) ? (fileTools(body) ?? [body]) : body
  if (!isArray(definitions)) {
    throw new ToolrackError(
      'BODY_INVALID',
      'The body must be a definition, an array of them, or {"tools": [ … ]}.',
    )
  }
  if (definitions.length === 0 || definitions.length > BULK_MAX) {
    throw new ToolrackError(
      'BODY_INVALID',
      `The body holds ${definitions.length} definitions; send 1 to ${BULK_MAX} at a time.`,
    )
  }
  return definitions
}

/** The tools of a definitions file, or undefined for a body that is not one. */
function fileTools({
  tools,
  family,
  $schema: _schema,
  ...rest
}: JsonObject): readonly JsonValue[] | undefined {
  if (tools === undefined || !isArray(tools)) return undefined
  if (Object.keys(rest).length > 0) {
    throw new ToolrackError('BODY_INVALID', 'Beside tools only family and $schema are known in the body.')
  }
  return typeof family === 'string' ? tools.map((tool) => withFamily(tool, family)) : tools
}

function isArray(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value)
}
