import { isJsonObject, ToolrackError, type JsonObject, type JsonValue } from '@toolrack/contract'
import express from 'express'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { finished } from 'node:stream/promises'
import { promisify } from 'node:util'
import { SMALL_BODY_BYTES } from './bodies-in-flight.ts'
import { BODY_BYTES_MAX, bodyTooLarge, declaredBody, type BodyKind } from './body-kinds.ts'
import { readJson, readJsonInPieces } from '../json/read-json.ts'
import { callerGone } from './caller.ts'
import type { KnownRequest } from './route.ts'

const PARSERS = {
  single: promisify(express.raw({ type: () => true, limit: BODY_BYTES_MAX.single })),
  bulk: promisify(express.raw({ type: () => true, limit: BODY_BYTES_MAX.bulk })),
}

export type Sent = Pick<KnownRequest, 'req' | 'res' | 'bodies' | 'principal'>

/**
 * Reads a body as JSON, whatever its Content-Type is. The JSON may have `depthMax` levels of arrays and objects. The default is
 * enough for definitions: 32 levels, and more within schemas. Throws BODY_INVALID and the errors of `readBytes`.
 */
export async function readBody(sent: Sent, kind: BodyKind, depthMax?: number): Promise<JsonValue> {
  const bytes = await readBytes(sent, kind)
  const { bodies, principal, res } = sent
  const json =
    bytes.length <= SMALL_BODY_BYTES
      ? readJson(bytes, depthMax)
      : await bodies.parseInTurn(principal.uid, callerGone(res), readJsonInPieces(bytes, depthMax))
  if ('value' in json) return json.value
  const { pointer, message } = json.fault
  throw new ToolrackError('BODY_INVALID', `The body ${message}${pointer && ` (at ${pointer})`}.`, {
    details: [{ reason: 'BODY_INVALID', pointer }],
  })
}

/** Reads a body as `readBody` does. Throws BODY_INVALID also if the JSON is not an object. */
export async function readObject(sent: Sent, kind: BodyKind): Promise<JsonObject> {
  const body = await readBody(sent, kind)
  if (!isJsonObject(body)) throw bodyInvalid('The body must be a JSON object.')
  return body
}

export function bodyInvalid(message: string): ToolrackError {
  return new ToolrackError('BODY_INVALID', message)
}

/**
 * A request that the Functions Framework has already read: the bytes of its body are in `rawBody`, and the parsed body is in
 * `body`.
 */
type ParsedRequest = IncomingMessage & { readonly rawBody?: Uint8Array; body?: unknown }

/** Reads the bytes of a body. They stay counted until the request has been handled. Throws BODY_TOO_LARGE or SERVICE_BUSY. */
export async function readBytes(sent: Sent, kind: BodyKind): Promise<Uint8Array> {
  const { res, bodies, principal } = sent
  const { size } = declaredBody(kind)
  const req: ParsedRequest = sent.req
  const { rawBody } = req
  // Frees the value that the framework has parsed, because it takes as much memory as the value that the service parses.
  if (rawBody) req.body = undefined
  if (rawBody && rawBody.length > BODY_BYTES_MAX[size]) throw bodyTooLarge(kind)
  try {
    bodies.take(req, principal.uid, bytesToCome(req, size))
  } catch (error) {
    await bodies.discardInTurn(principal.uid, callerGone(res), () => discard(req))
    throw error
  }
  if (!rawBody) await parse(req, res, kind)
  const bytes = rawBody ?? (Buffer.isBuffer(req.body) ? req.body : new Uint8Array())
  bodies.lower(req, bytes.length)
  return bytes
}

async function parse(req: IncomingMessage, res: ServerResponse, kind: BodyKind): Promise<void> {
  try {
    await PARSERS[declaredBody(kind).size](req, res)
  } catch (error) {
    throw (error as { type?: string }).type === 'entity.too.large' ? bodyTooLarge(kind) : error
  }
}

/** True if the headers of a request say that it has a body. */
export function announcesBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
}

/** The most bytes that the body of a request can still turn out to have. */
function bytesToCome(req: ParsedRequest, size: keyof typeof BODY_BYTES_MAX): number {
  if (req.rawBody) return req.rawBody.length
  const { 'content-length': length, 'content-encoding': encoding = 'identity' } = req.headers
  if (length === undefined && req.headers['transfer-encoding'] === undefined) return 0
  // The size of a body that is compressed, or comes in chunks, is not known.
  if (length === undefined || encoding.toLowerCase() !== 'identity') return BODY_BYTES_MAX[size]
  // A longer body is refused before it is read, so nothing is counted for it.
  return Number(length) > BODY_BYTES_MAX[size] ? 0 : Number(length)
}

/** Reads the rest of a body and discards it, because a client does not read the answer while it is still sending. */
async function discard(req: IncomingMessage): Promise<void> {
  try {
    await finished(req.resume())
  } catch {
    // The client has disconnected.
  }
}
