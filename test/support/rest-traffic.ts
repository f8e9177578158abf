import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ClientRequest, IncomingMessage } from 'node:http'

/** The REST traffic that was recorded: each request by its method, and each answer as a whole. */
export type RestListener = {
  readonly onQuestion: (method: string) => void
  readonly onAnswer: (text: string) => void
}

const METHOD = /\/documents(?:\/[^:]*)?:(?<method>\w+)$/

/**
 * Records the requests of this process to Firestore by REST, inside Node: where it sends requests and parses answers.
 * Call the returned function to stop.
 */
export function listenToRest({ onQuestion, onAnswer }: RestListener): () => void {
  function hearRequest(message: unknown): void {
    const { request } = message as { request: ClientRequest }
    const method = METHOD.exec(request.path)?.groups?.['method']
    if (method !== undefined) onQuestion(method)
  }
  function hearResponse(message: unknown): void {
    const { request, response } = message as { request: ClientRequest; response: IncomingMessage }
    if (!METHOD.test(request.path)) return
    const pieces: Buffer[] = []
    const push = response.push.bind(response)
    // The parser itself makes this call, however the caller reads the response.
    response.push = (piece: Buffer | null, ...rest) => {
      if (piece) pieces.push(piece)
      else onAnswer(Buffer.concat(pieces).toString())
      return push(piece, ...rest)
    }
  }
  subscribe('http.client.request.start', hearRequest)
  subscribe('http.client.response.finish', hearResponse)
  return () => {
    unsubscribe('http.client.request.start', hearRequest)
    unsubscribe('http.client.response.finish', hearResponse)
  }
}
