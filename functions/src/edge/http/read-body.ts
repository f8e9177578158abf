import type { JsonValue } from '@toolrack/contract'
import { ToolrackError } from '@toolrack/contract'
import express from 'express'
import type { IncomingMessage } from 'node:http'
import { finished } from 'node:stream/promises'
import { SMALL_BODY_BYTES } from './bodies-in-flight.ts'
import { readJson, readJsonInSteps } from '../../tools/json/read-json.ts'
import { callerGone } from './caller.ts'
import type { KnownRequest } from './route.ts'

/** Bytes of a body outside bulk, and in bulk. */
export const BODY_BYTES_MAX = { single: 256 * 1024, bulk: 1024 * 1024 } as const

type Size = keyof typeof BODY_BYTES_MAX

const PARSERS = {
  single: express.raw({ type: () => true, limit: BODY_BYTES_MAX.single }),
  bulk: express.raw({ type: () => true, limit: BODY_BYTES_MAX.bulk }),
}

/** What reading a body takes of a request. */
export type Sent = Pick<KnownRequest, 'req' | 'res' | 'bodies' | 'principal'>

/**
 * The JSON of a request's body, whatever its Content-Type says; nested 32 levels deep outside schemas, unless said otherwise.
 * Throws BODY_INVALID, and what `readBytes` throws.
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

/** What a parser leaves in a request. */
type Read = { readonly rawBody?: Uint8Array; body?: unknown }

/**
 * The bytes of a request's body, which are counted among the bodies in flight until the request has been handled. Throws
 * BODY_TOO_LARGE, and SERVICE_BUSY where there are too many.
 */
export async function readBytes({ req, res, bodies, principal }: Sent, size: Size): Promise<Uint8Array> {
  const read = req as Read
  const { rawBody } = read
  // The Framework has also parsed it, and that value is as large as the one that is made here.
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

/** The most bytes that a body can have. The Functions Framework has read it already and leaves it in `rawBody`. */
function bytesToCome(req: IncomingMessage & Read, size: Size): number {
  if (req.rawBody) return req.rawBody.length
  const { 'content-length': length, 'content-encoding': encoding = 'identity' } = req.headers
  if (length === undefined && req.headers['transfer-encoding'] === undefined) return 0
  // What is compressed, or comes in chunks, does not say how large it will be.
  if (length === undefined || encoding.toLowerCase() !== 'identity') return BODY_BYTES_MAX[size]
  // A longer body is refused before it is read, also while there are many: it would never be taken.
  return Number(length) > BODY_BYTES_MAX[size] ? 0 : Number(length)
}

/** Reads a body without keeping it: a client that is still sending would see its connection break in place of the answer. */
async function discard(req: IncomingMessage): Promise<void> {
  try {
    await finished(req.resume())
  } catch {
    // The client has gone, and nobody waits for the answer.
  }
}

async function parsedBytes(req: IncomingMessage & Read, res: Sent['res'], size: Size): Promise<Uint8Array> {
  await new Promise<void>((resolve, reject) => {
    PARSERS[size](req, res, (error?: Error) => (error ? reject(error) : resolve()))
  })
  return Buffer.isBuffer(req.body) ? req.body : new Uint8Array()
}
