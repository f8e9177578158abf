import type { JsonObject, JsonValue } from '@toolrack/contract'
import { isJsonObject, ToolrackError } from '@toolrack/contract'
import { BULK_MAX } from '../definitions/definition-writer.ts'
import { withFamily } from '../definitions/with-family.ts'
import { ON_CONFLICT } from '../definitions/definition-change.ts'
import { Query } from '../http/query.ts'
import { readBody } from '../http/read-body.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'
import { writtenLayer } from './layer-parameter.ts'

/** `POST /tools/defs`: writes one or up to 200 definitions, all of them or none. */
export async function postDefinitions({
  services,
  principal,
  search,
  req,
  res,
}: RouteRequest): Promise<void> {
  const query = new Query(search, ['layer', 'onConflict', 'onInvalid'])
  const layer = writtenLayer(query)
  const onConflict = query.choice('onConflict', ON_CONFLICT, 'upsert')
  const onInvalid = query.choice('onInvalid', ['fail', 'skip'], 'fail')
  if (req.headers['if-match'] !== undefined || req.headers['if-none-match'] !== undefined) {
    throw new ToolrackError(
      'HEADER_INVALID',
      'If-Match and If-None-Match are for one definition; write it with PUT.',
    )
  }
  const sent = definitionsOf(await readBody(req, res, 'bulk'))
  sendJson(res, 200, await services.writer.putAll(principal, layer, sent, { onConflict, onInvalid }))
}

/** One definition, an array of them, or a whole definitions file: `{"family": …, "tools": [ … ]}`. */
function definitionsOf(body: JsonValue): readonly JsonValue[] {
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
