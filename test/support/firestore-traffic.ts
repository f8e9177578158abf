import { setLogFunction } from '@google-cloud/firestore'

export type Rpc = 'documents' | 'query' | 'count' | 'commit' | 'rollback'

const REQUEST = /\[Firestore\.request(?:Stream)?\]: Sending request: (?<json>.*)$/s
const RESPONSE = /\[Firestore\.requestStream\]: Received response: (?<json>.*)$/s

/** Every call that this process makes to Firestore, and every document that comes back, as the client itself logs them. */
export class FirestoreTraffic implements Disposable {
  readonly rpcs: Rpc[] = []
  /** The paths below `documents/` of what was read; a document that is not there was read too. */
  readonly read: string[] = []
  /** Called at each call, before its bytes leave. */
  onRpc: (rpc: Rpc) => void = () => undefined

  constructor() {
    setLogFunction((line) => this.#note(line))
  }

  /** Forgets what was before. */
  restart(): void {
    this.rpcs.length = 0
    this.read.length = 0
  }

  [Symbol.dispose](): void {
    setLogFunction(null)
  }

  #note(line: string): void {
    const request = REQUEST.exec(line)?.groups?.['json']
    if (request !== undefined) {
      const rpc = rpcOf(JSON.parse(request) as Record<string, unknown>)
      this.rpcs.push(rpc)
      this.onRpc(rpc)
    }
    const response = RESPONSE.exec(line)?.groups?.['json']
    if (response === undefined) return
    const { found, missing, document } = JSON.parse(response) as {
      found?: { name: string } | null
      missing?: string | null
      document?: { name: string } | null
    }
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
