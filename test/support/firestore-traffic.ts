import { setLogFunction } from '@google-cloud/firestore'
import { listenToRest } from './rest-traffic.ts'

export type Rpc = 'documents' | 'query' | 'count' | 'commit' | 'rollback'

const REQUEST = /\[Firestore\.request(?:Stream)?\]: Sending request: (?<json>.*)$/s
const RESPONSE = /\[Firestore\.requestStream\]: Received response: (?<json>.*)$/s

/** The part about a document in an answer, or in an element of an answer. */
type Answer = {
  readonly found?: { readonly name: string } | null
  readonly missing?: string | null
  readonly document?: { readonly name: string } | null
}

/**
 * Records every call of this process to Firestore, and every document in the answers. The calls of the client are read from
 * its log, and the calls by REST from the wire.
 */
export class FirestoreTraffic implements Disposable {
  readonly rpcs: Rpc[] = []
  /** The paths below `documents/` of the read documents. A document that does not exist is included. */
  readonly read: string[] = []
  /** Called at each call, before its bytes are sent. */
  onRpc: (rpc: Rpc) => void = () => undefined

  readonly #stopListening: () => void

  constructor() {
    setLogFunction((line) => this.#note(line))
    this.#stopListening = listenToRest({
      onQuestion: (method) => this.#call(method === 'batchGet' ? 'documents' : 'query'),
      onAnswer: (text) => (JSON.parse(text) as Answer[]).forEach((answer) => this.#noteAnswer(answer)),
    })
  }

  /** Forgets everything recorded before. */
  restart(): void {
    this.rpcs.length = 0
    this.read.length = 0
  }

  /** Calls `act` at the next commit, before its bytes are sent. */
  atNextCommit(act: () => void): void {
    this.onRpc = (rpc) => {
      if (rpc !== 'commit') return
      this.onRpc = () => undefined
      act()
    }
  }

  [Symbol.dispose](): void {
    setLogFunction(null)
    this.#stopListening()
  }

  #note(line: string): void {
    const request = REQUEST.exec(line)?.groups?.['json']
    if (request !== undefined) this.#call(rpcOf(JSON.parse(request) as Record<string, unknown>))
    const response = RESPONSE.exec(line)?.groups?.['json']
    if (response !== undefined) this.#noteAnswer(JSON.parse(response) as Answer)
  }

  #call(rpc: Rpc): void {
    this.rpcs.push(rpc)
    this.onRpc(rpc)
  }

  #noteAnswer({ found, missing, document }: Answer): void {
    const name = found?.name ?? document?.name ?? missing
    if (name) this.read.push(name.slice(name.indexOf('/documents/') + '/documents/'.length))
  }
}

function rpcOf(request: Record<string, unknown>): Rpc {
  if ('documents' in request) return 'documents'
  if ('structuredQuery' in request) return 'query'
  if ('structuredAggregationQuery' in request) return 'count'
  if ('writes' in request) return 'commit'
  if ('transaction' in request) return 'rollback'
  throw new Error(`a call of an unknown kind: ${Object.keys(request).join(', ')}`)
}
