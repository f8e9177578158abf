import { isJsonObject, ToolrackError, type JsonObject, type JsonValue } from '@toolrack/contract'
import express from 'express'
import type { IncomingMessage } from 'node:http'
import { finished } from 'node:stream/promises'
import { SMALL_BODY_BYTES } from './bodies-in-flight.ts'
import { readJson, readJsonInSteps } from '../../tools/json/read-json.ts'
import { callerGone } from './caller.ts'
import type { KnownRequest } from './route.ts'

/** The most bytes of a body that holds one thing, and of one that holds many. */
export const BODY_BYTES_MAX = { single: 256 * 1024, bulk: 1024 * 1024 } as const

type Size = keyof typeof BODY_BYTES_MAX

const PARSERS = {
  single: express.raw({ type: () => true, limit: BODY_BYTES_MAX.single }),
  bulk: express.raw({ type: () => true, limit: BODY_BYTES_MAX.bulk }),
}

/** The fields of a request that are needed to read its body. */
export type Sent = Pick<KnownRequest, 'req' | 'res' | 'bodies' | 'principal'>

/**
 * The JSON of a request's body, whatever its Content-Type says. It may be nested 32 levels deep outside schemas, unless
 * `depthMax` says otherwise. Throws BODY_INVALID, and what `readBytes` throws.
 */
export async function readBody(sent: Sent, size: Size, depthMax?: number): Promise<JsonValue> {
  const bytes = await readBytes(sent, size)
  const { bodies, principal, res } = sent
  const json =
    bytes.length <= SMALL_BODY_BYTES
      ? readJson(bytes, depthMax)
      : await bodies.parseInTurn(principal.uid, callerGone(res), (giveTurn) =>
          readJsonInSteps(bytes, depthMax, giveTurn),
        )
  if ('value' in json) return json.value
  const { pointer, message } = json.fault
  throw new ToolrackError('BODY_INVALID', `The body ${message}${pointer && ` (at ${pointer})`}.`, {
    details: [{ reason: 'BODY_INVALID', pointer }],
  })
}

/** Throws what `readBody` throws, and BODY_INVALID if the JSON is not an object. */
export async function readObject(sent: Sent, size: Size): Promise<JsonObject> {
  const body = await readBody(sent, size)
  if (!isJsonObject(body)) throw bodyInvalid('The body must be a JSON object.')
  return body
}

export function bodyInvalid(message: string): ToolrackError {
  return new ToolrackError('BODY_INVALID', message)
}

/** The fields that a parser adds to a request. */
type Read = { readonly rawBody?: Uint8Array; body?: unknown }

/** The bytes of a body, which count until the request is handled. Throws BODY_TOO_LARGE or SERVICE_BUSY. */
export async function readBytes({ req, res, bodies, principal }: Sent, size: Size): Promise<Uint8Array> {
  const read = req as Read
  const { rawBody } = read
  // The Functions Framework has parsed the body too. Its value takes as much memory as ours.
  if (rawBody) read.body = undefined
  if (rawBody && rawBody.length > BODY_BYTES_MAX[size]) throw new ToolrackError('BODY_TOO_LARGE')
  try {
    bodies.take(req, principal.uid, bytesToCome(req, size))
  } catch (error) {
    await bodies.discardInTurn(principal.uid, callerGone(res), () => discard(req))
    throw error
  }
  const bytes = rawBody ?? (await parsedBytes(req, res, size))
  bodies.lower(req, bytes.length)
  return bytes
}

/** The most bytes that a body can have. The Functions Framework has already read it into `rawBody`. */
function bytesToCome(req: IncomingMessage & Read, size: Size): number {
  if (req.rawBody) return req.rawBody.length
  const { 'content-length': length, 'content-encoding': encoding = 'identity' } = req.headers
  if (length === undefined && req.headers['transfer-encoding'] === undefined) return 0
  // A body that is compressed, or comes in chunks, does not say how large it is.
  if (length === undefined || encoding.toLowerCase() !== 'identity') return BODY_BYTES_MAX[size]
  // A longer body is refused before it is read, so it needs no bytes.
  return Number(length) > BODY_BYTES_MAX[size] ? 0 : Number(length)
}

/** Reads a body without keeping it, because a client that still sends would not see the answer. */
async function discard(req: IncomingMessage): Promise<void> {
  try {
    await finished(req.resume())
  } catch {
    // The client has gone. Nobody waits for the answer.
  }
}

async function parsedBytes(req: IncomingMessage & Read, res: Sent['res'], size: Size): Promise<Uint8Array> {
  await new Promise<void>((resolve, reject) => {
    PARSERS[size](req, res, (error?: Error) => (error ? reject(error) : resolve()))
  })
  return Buffer.isBuffer(req.body) ? req.body : new Uint8Array()
}
