import { setTimeout as pause } from 'node:timers/promises'
import { rawConnection } from '../../support/raw-http.ts'
import type { Fault } from '../rounds.ts'
import { bytesOf, isWhole } from './fuzzed-request.ts'
import type { FuzzedRequest } from './fuzzed-request.ts'
import { judgeAnswer } from './judge-answer.ts'
import { userToken } from './people.ts'
import type { Stage } from './stage.ts'
import { readAnswers } from './wire-answers.ts'
import type { WireAnswer, WireAnswers } from './wire-answers.ts'

/** A connection that is neither answered nor ended after so long is a finding: no call of the stage takes a second. */
const ANSWER_MS_MAX = 30_000
/** Above this a refused request may be cut off before its sender has read the answer; TCP has no way around it. */
const READ_BEFORE_CUT_BYTES = 48 * 1024

/** The request behind the fuzzed one, on the same connection: its answer shows that both ends agree where that one ended. */
const MARK = 'BEHIND_IT'
const probe = (): string =>
  `GET /workflows/tools/list?names=${MARK} HTTP/1.1\r\nHost: fuzz\r\nAuthorization: Bearer ${userToken('hana')}\r\nConnection: close\r\n\r\n`

export type Tried = { readonly fault: Fault | undefined; readonly status: number }

/** Sends one request with a harmless one behind it, and judges everything that comes back on the connection. */
export async function tryRequest(request: FuzzedRequest, stage: Stage): Promise<Tried> {
  const bytes = bytesOf(request, stage)
  const heard = await exchange(bytes, request, stage.service.url)
  const read = readAnswers(heard.bytes, [request.method, 'GET'])
  const [status = 0] = finalOf(read).map((answer) => answer.status)
  if (!heard.hasEnded)
    return { status, fault: { kind: 'a connection is neither answered nor ended', detail: '' } }
  const isLost = heard.isReset && bytes.length > READ_BEFORE_CUT_BYTES
  const framing = framingFault(request, read, isLost)
  if (framing !== undefined)
    return { status, fault: { kind: framing, detail: heard.bytes.toString('latin1', 0, 1_500) } }
  const hidden = stage.hiddenFrom(request.sender)
  for (const [index, answer] of finalOf(read).entries()) {
    const fault = judgeAnswer(answer, index === 0 && request.method === 'HEAD', hidden)
    if (fault) return { status, fault }
  }
  return { status, fault: undefined }
}

type Heard = { readonly bytes: Buffer; readonly hasEnded: boolean; readonly isReset: boolean }

async function exchange(bytes: Buffer, request: FuzzedRequest, url: string): Promise<Heard> {
  const socket = await rawConnection(url)
  const chunks: Buffer[] = []
  let isReset = false
  socket.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', () => (isReset = true))
  const closed = new Promise<true>((resolve) => socket.once('close', () => resolve(true)))
  const size = Math.ceil(bytes.length / request.pieces)
  for (let start = 0; start < bytes.length && socket.writable; start += size) {
    socket.write(bytes.subarray(start, start + size))
    if (request.pieces > 1) await pause(2)
  }
  if (request.framing.as === 'long') socket.end()
  // Not ended: Node takes the end of the sender's side for the end of everybody's interest.
  else socket.write(probe())
  const ended = new AbortController()
  const late = pause(ANSWER_MS_MAX, false, { signal: ended.signal }).catch(() => false)
  const hasEnded = await Promise.race([closed, late])
  ended.abort()
  socket.destroy()
  return { bytes: Buffer.concat(chunks), hasEnded, isReset }
}

function finalOf({ answers }: WireAnswers): readonly WireAnswer[] {
  return answers.filter(({ status }) => status >= 200)
}

function isProbe(answer: WireAnswer): boolean {
  return answer.headers['x-tools-unknown'] === MARK
}

function framingFault(request: FuzzedRequest, read: WireAnswers, isLost: boolean): string | undefined {
  if (read.fault !== undefined) return read.fault.split(': ', 1)[0]
  const final = finalOf(read)
  const [first, second] = final
  if (read.isCut && !isLost) return 'an answer is not whole'
  if (final.length > 2) return 'a request was given more than one answer'
  if (isWhole(request)) {
    if (!first) return isLost || request.method === 'CONNECT' ? undefined : 'a request was not answered'
    if (isProbe(first)) return 'the answer to a request is that to the next one'
    if (second)
      return isProbe(second)
        ? undefined
        : 'the next request on the connection was not answered as it should be'
    const closes = first.headers['connection']?.toLowerCase() === 'close'
    return closes || isLost ? undefined : 'a connection ended without being announced'
  }
  if (request.framing.as === 'short') return undefined
  if (request.framing.as === 'long') return second ? 'a request was given more than one answer' : undefined
  // Whoever handed such a request on may have seen another end of it, so nothing behind it may be believed.
  return second ? 'a request without a clear end was answered, and the connection went on' : undefined
}
