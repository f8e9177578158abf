export type OriginalAgent = { readonly id: string; readonly name: string; readonly tools?: readonly string[] }

type Options = {
  /** `fetch` with a path of the service, as the user. */
  readonly fetch: (path: string, init?: RequestInit) => Promise<Response>
  /** Where the agents are: at the root, or below `/workflows` as the original web client asks. */
  readonly at: '/agents' | '/workflows/agents'
  readonly projectId: string
}

/** The part of the original web client that keeps agents. It reads only the bodies, and throws the text of an error. */
export class OriginalClient {
  readonly #options: Options

  constructor(options: Options) {
    this.#options = options
  }

  async create(fields: object): Promise<OriginalAgent> {
    return ((await this.#ask('POST', '', fields)) as { agent: OriginalAgent }).agent
  }

  async update(id: string, fields: object): Promise<OriginalAgent> {
    return ((await this.#ask('PATCH', `/${encodeURIComponent(id)}`, fields)) as { agent: OriginalAgent })
      .agent
  }

  async list(): Promise<readonly OriginalAgent[]> {
    return ((await this.#ask('GET', '')) as { agents: readonly OriginalAgent[] }).agents
  }

  async addTools(id: string, tools: string | readonly string[]): Promise<readonly string[]> {
    return toolsIn(await this.#ask('POST', `/${encodeURIComponent(id)}/tools`, { tools }))
  }

  async removeTools(id: string, tools: string | readonly string[]): Promise<readonly string[]> {
    return toolsIn(await this.#ask('DELETE', `/${encodeURIComponent(id)}/tools`, { tools }))
  }

  async link(sessionId: string, agentId: string): Promise<unknown> {
    return this.#ask('PUT', `/session/${encodeURIComponent(sessionId)}`, { agentId })
  }

  async unlink(sessionId: string): Promise<unknown> {
    return this.#ask('DELETE', `/session/${encodeURIComponent(sessionId)}`)
  }

  async delete(id: string): Promise<unknown> {
    return this.#ask('DELETE', `/${encodeURIComponent(id)}`)
  }

  async #ask(method: string, path: string, body?: object): Promise<unknown> {
    const { fetch: send, at, projectId } = this.#options
    const headers = { 'Content-Type': 'application/json', 'x-project-id': projectId }
    const answer = await send(at + path, { method, headers, body: body ? JSON.stringify(body) : null })
    const read = (await answer.json()) as { readonly error?: string }
    if (!answer.ok) throw new Error(read.error)
    return read
  }
}

function toolsIn(body: unknown): readonly string[] {
  return (body as { readonly tools: readonly string[] }).tools
}
