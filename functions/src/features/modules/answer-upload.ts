import { errorBody, ToolrackError } from '@toolrack/contract'
import { callAnswer } from '../../http/accept.ts'
import { EventStream } from '../../http/event-stream.ts'
import type { FoundRequest } from '../../http/route.ts'
import { knownError } from '../../http/send-error.ts'
import { sendJson } from '../../http/send-json.ts'

/** Milliseconds from one sentence about the progress to the next, so that a person sees that the upload goes on. */
const PROGRESS_MS = 1_000

const CHECKED = 'The module is being checked.'

const NO_STREAM =
  "Hosting passes on an answer only when it is whole, so it can stream no progress; nothing was written. Call the function's own URL, or accept application/json."

/** The answer to an upload. */
type Answer = {
  readonly status: 200 | 201
  readonly body: object
  readonly headers: Readonly<Record<string, string>>
}

/** Throws NOT_ACCEPTABLE if the caller accepts only a stream, and a proxy in front of the service passes no stream on. */
export function refuseBuffered({ req }: FoundRequest, isBuffered: boolean): void {
  const { wants, takesJson } = callAnswer(req.headers.accept)
  if (wants === 'events' && isBuffered && !takesJson) throw new ToolrackError('NOT_ACCEPTABLE', NO_STREAM)
}

/**
 * Sends the answer to an upload as JSON, or as a stream of its progress. A stream begins with the first sentence about the
 * progress. An upload that is refused before that is answered like any other request.
 */
export async function answerUpload(
  { req, res }: FoundRequest,
  isBuffered: boolean,
  upload: (onProgress?: (text: string) => void) => Promise<Answer>,
): Promise<void> {
  if (isBuffered || callAnswer(req.headers.accept).wants === 'json') {
    const { status, body, headers } = await upload()
    return sendJson(res, status, body, headers)
  }
  const stream = new EventStream(res, { comment: 'the upload goes on' })
  const progress = new Progress(stream)
  try {
    const { status, body, headers } = await upload((text) => progress.tell(text))
    stream.end('result', { status, ...body }, headers)
  } catch (error) {
    if (!stream.isOpen) throw error
    const known = knownError(error)
    stream.end('error', errorBody(known))
    // The audit trail and the log get the error too.
    throw known
  } finally {
    progress.end()
  }
}

/** Sends sentences about the progress. If there is no new one, it repeats the last. */
class Progress {
  readonly #stream: EventStream
  #text = CHECKED
  #timer: NodeJS.Timeout

  constructor(stream: EventStream) {
    this.#stream = stream
    this.#timer = setInterval(() => this.#send(), PROGRESS_MS).unref()
  }

  tell(text: string): void {
    this.#text = text
    this.#timer.refresh()
    this.#send()
  }

  end(): void {
    clearInterval(this.#timer)
  }

  /** A reader that is behind misses a sentence. The next one says what is done then. */
  #send(): void {
    if (!this.#stream.isBehind) void this.#stream.send('progress', { text: this.#text })
  }
}
