import { ScriptedServer } from './scripted-server.ts'

export type ChatRequest = {
  readonly model: string
  readonly messages: readonly { readonly role: string; readonly [field: string]: unknown }[]
  readonly tools?: readonly object[]
  readonly [field: string]: unknown
}

/** A server of Chat Completions. It checks that the vendor would accept the requests, and answers with the given messages. */
export class ChatServer implements AsyncDisposable {
  readonly requests: ChatRequest[] = []
  readonly authorizations: (string | undefined)[] = []
  readonly #server: ScriptedServer

  private constructor(server: ScriptedServer) {
    this.#server = server
  }

  /** The messages in order. The last one is repeated. */
  static async start(...messages: readonly object[]): Promise<ChatServer> {
    const server = await ScriptedServer.start()
    const chat = new ChatServer(server)
    const left = [...messages]
    server.answers = [
      (req, res) => {
        let text = ''
        req.on('data', (chunk) => (text += String(chunk)))
        req.on('end', () => {
          const request = JSON.parse(text) as ChatRequest
          chat.requests.push(request)
          chat.authorizations.push(req.headers.authorization)
          const fault = faultOf(request)
          if (fault !== undefined) {
            res
              .writeHead(400)
              .end(JSON.stringify({ error: { message: fault, type: 'invalid_request_error' } }))
            return
          }
          const message = left.length > 1 ? left.shift() : left[0]
          const isCalling = message !== undefined && 'tool_calls' in message
          const choice = { index: 0, message, finish_reason: isCalling ? 'tool_calls' : 'stop' }
          res.end(JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion', choices: [choice] }))
        })
      },
    ]
    return chat
  }

  get url(): string {
    return `${this.#server.origin}/v1/chat/completions`
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#server[Symbol.asyncDispose]()
  }
}

/** Checks the vendor's own rules: every call is answered once, directly after its message, and a list of tools is not empty. */
function faultOf({ messages, tools }: ChatRequest): string | undefined {
  if (tools && tools.length === 0) return "Invalid 'tools': empty array."
  for (const [index, message] of messages.entries()) {
    const calls = (message['tool_calls'] ?? []) as readonly { readonly id: string }[]
    const answers = messages.slice(index + 1, index + 1 + calls.length)
    const ids = new Set(answers.map(({ role, tool_call_id: id }) => (role === 'tool' ? id : undefined)))
    if (calls.some(({ id }) => !ids.has(id)))
      return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'."
  }
  return undefined
}

/** An assistant's message that calls tools. */
export function calling(...calls: readonly object[]): object {
  return { role: 'assistant', content: null, tool_calls: calls }
}

/** An assistant's message that calls no tool. */
export function saying(content: string): object {
  return { role: 'assistant', content }
}
