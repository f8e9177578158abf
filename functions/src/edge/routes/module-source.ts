import { ToolrackError } from '@toolrack/contract'
import { BODY_BYTES_MAX, readBody, readBytes } from '../http/read-body.ts'
import type { Sent } from '../http/read-body.ts'
import { objectBody } from './object-body.ts'

/** A module may be as large as any other body (design, section 11). */
const SOURCE_BYTES_MAX = BODY_BYTES_MAX.single

/** What clients send files as; `curl --data-binary` says it is a form. */
const PYTHON = /^(?:text\/[a-z.+-]+|application\/(?:octet-stream|x-python(?:-code)?|x-www-form-urlencoded))$/

/** The Python source in a request's body, as it is or as `{"source"}` in JSON. */
export async function moduleSource(sent: Sent): Promise<Uint8Array> {
  const [type = ''] = (sent.req.headers['content-type'] ?? '').toLowerCase().split(';', 1)
  if (type.trim() === 'application/json') return sourceInJson(sent)
  if (type.trim() !== '' && !PYTHON.test(type.trim()))
    throw new ToolrackError(
      'HEADER_INVALID',
      'The Content-Type must be text/x-python, application/octet-stream or application/json, or be left out: send the file itself, as curl -T does.',
    )
  return readBytes(sent, 'single')
}

async function sourceInJson(sent: Sent): Promise<Uint8Array> {
  const { source, ...rest } = objectBody(await readBody(sent, 'bulk'))
  if (typeof source !== 'string' || Object.keys(rest).length > 0)
    throw new ToolrackError('BODY_INVALID', 'The body must be {"source": "…"}, or the Python source itself.')
  const bytes = Buffer.from(source)
  if (bytes.length > SOURCE_BYTES_MAX) throw new ToolrackError('BODY_TOO_LARGE')
  return bytes
}
