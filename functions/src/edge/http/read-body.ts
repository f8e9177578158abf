import type { JsonValue } from '@toolrack/contract'
import { ToolrackError } from '@toolrack/contract'
import express from 'express'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { readJson } from '../../tools/json/read-json.ts'

/** Bytes of a body outside bulk, and in bulk (design, section 11). */
export const BODY_BYTES_MAX = { single: 256 * 1024, bulk: 1024 * 1024 } as const

const PARSERS = {
  single: express.raw({ type: () => true, limit: BODY_BYTES_MAX.single }),
  bulk: express.raw({ type: () => true, limit: BODY_BYTES_MAX.bulk }),
}

/** The JSON of a request's body, whatever its Content-Type says; nested 32 levels deep outside schemas, unless said otherwise. */
export async function readBody(
  req: IncomingMessage,
  res: ServerResponse,
  size: keyof typeof PARSERS,
  depthMax?: number,
): Promise<JsonValue> {
  const bytes = await readBytes(req, res, size)
  const json = readJson(bytes, depthMax)
  if ('value' in json) return json.value
  const { pointer, message } = json.fault
  throw new ToolrackError('BODY_INVALID', `The body ${message}${pointer && ` (at ${pointer})`}.`, {
    details: [{ reason: 'BODY_INVALID', pointer }],
  })
}

/** What a parser leaves in a request. */
type Read = { readonly rawBody?: Uint8Array; readonly body?: unknown }

/** The Functions Framework has read the body already and leaves it in `rawBody`. */
export async function readBytes(
  req: IncomingMessage & Read,
  res: ServerResponse,
  size: keyof typeof PARSERS,
): Promise<Uint8Array> {
  const { rawBody } = req
  if (rawBody && rawBody.length > BODY_BYTES_MAX[size]) throw new ToolrackError('BODY_TOO_LARGE')
  if (rawBody) return rawBody
  await new Promise<void>((resolve, reject) => {
    PARSERS[size](req, res, (error?: Error) => (error ? reject(error) : resolve()))
  })
  return Buffer.isBuffer(req.body) ? req.body : new Uint8Array()
}
