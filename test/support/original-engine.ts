export type Call = {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}
export type Item = { readonly function: { readonly name: string }; readonly workflowName: string }
/** `cost` is that of the conversation until now. */
export type Workflow = (input: {
  readonly tool_call: Call
  readonly cost: number
  readonly env: object
}) => Promise<{ readonly encoded: string; readonly cost?: number }>

type EngineOptions = {
  readonly service: string
  readonly headers: Readonly<Record<'Authorization' | 'x-user-id' | 'x-project-id', string>>
  readonly query: string
  /** The session whose agent says which tools are listed. */
  readonly sessionId?: string
  /** The tools that the engine has without the service. */
  readonly ownTools: readonly Item[]
  /** The workflows by name, with the suffix of the environment. */
  readonly workflows: Readonly<Record<string, Workflow>>
  readonly env: { readonly WORKFLOW_ENV: string }
  /** Waits before a request is sent again. */
  readonly pause: () => Promise<void>
}

type Result = { readonly resultType: string; readonly textResultForLlm: string; readonly code?: string }
type Answer = string | Result | Awaited<ReturnType<Workflow>>
type Dispatched = {
  readonly results: readonly { readonly id: string; readonly result: Result | null }[]
  readonly pending: readonly { readonly call: Call; readonly workflowName?: string }[]
}

/** What the model reads about a call whose dispatch was lost. */
export const MAY_HAVE_RUN = 'The tools service was lost during this call. The tool may have run.'
/** What the model reads if a workflow does not exist. The original answers nothing, but vendors refuse a call without an answer. */
export const NO_WORKFLOW = 'No workflow runs this tool.'

/** The codes of calls that can be sent again, because nothing was run. */
const NOTHING_WAS_RUN = new Set(['RUNNER_UNAVAILABLE', 'RUNNER_BUSY', 'SERVICE_BUSY'])

/** No answer has come. `nothingDone` is true if the service has surely not begun to work on the request. */
class Unanswered extends Error {
  nothingDone = false
}

/**
 * The original workflow engine with the dispatch of the service. It lists the tools and runs the workflows as the original
 * does, and leaves all other tools to the service.
 */
export class OriginalEngine {
  readonly messages: object[] = []
  cost = 0
  readonly #options: EngineOptions
  #tools: readonly Item[]
  /** The workflows of tools that a dispatch has given back. The service never runs these tools. */
  readonly #workflowOf = new Map<string, string>()

  constructor(options: EngineOptions) {
    this.#options = options
    this.#tools = options.ownTools
  }

  /** One turn of a conversation. Appends the calls of the model, and the messages that answer them. */
  async turn(model: (tools: readonly Item[]) => readonly Call[]): Promise<void> {
    const calls = model(await this.#list())
    const answers = new Map<string, Answer>()
    for (let left = calls; ; await this.#options.pause()) {
      const { results, pending } = await this.#dispatch(left)
      for (const { id, result } of results)
        if (result && !NOTHING_WAS_RUN.has(result.code ?? '')) answers.set(id, result)
      for (const { call, workflowName } of pending) answers.set(call.id, await this.#run(call, workflowName))
      left = calls.filter(({ id }) => !answers.has(id))
      if (left.length === 0) break
    }
    const results = calls.map(({ id }, index) => ({ index, result: answers.get(id) }))
    // The service runs nothing here, so the request can always be repeated.
    const { body } = await this.#repeat(
      'tools/dispatch/complete',
      { format: 'openai', calls, results },
      () => true,
    )
    const { messages } = body as { messages: readonly object[] }
    this.messages.push({ role: 'assistant', content: null, tool_calls: calls }, ...messages)
  }

  /** The tools of the service, or the last known ones if the service does not answer. */
  async #list(): Promise<readonly Item[]> {
    try {
      const { body } = await this.#ask(`tools/list?${this.#options.query}${await this.#namesOfAgent()}`)
      this.#tools = (body as { items: readonly Item[] }).items
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error
    }
    return this.#tools
  }

  /** The tools of the session's agent as a part of the query. Without an agent, or if it has no tools, there are none. */
  async #namesOfAgent(): Promise<string> {
    const { sessionId } = this.#options
    if (sessionId === undefined) return ''
    const { body } = await this.#ask(
      `agents/session/${encodeURIComponent(sessionId)}/tools`,
      undefined,
      [404],
    )
    const { tools = [] } = body as { tools?: readonly string[] }
    return tools.length === 0 ? '' : `&names=,${tools.map(encodeURIComponent).join()}`
  }

  /** Sends the calls until the service has them. If the answer is lost, only tools that the service never runs are run. */
  async #dispatch(calls: readonly Call[]): Promise<Dispatched> {
    try {
      return (await this.#repeat('tools/dispatch', calls, (lost) => lost.nothingDone)).body as Dispatched
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error
      const lost = { resultType: 'failure', textResultForLlm: MAY_HAVE_RUN }
      const isOwn = (call: Call): boolean => this.#workflowOf.has(call.function.name)
      const results = calls.filter((call) => !isOwn(call)).map(({ id }) => ({ id, result: lost }))
      return { results, pending: calls.filter(isOwn).map((call) => ({ call })) }
    }
  }

  /** Runs the workflow that dispatch has named, or else the one of the list, as for tools of the command line. */
  async #run(call: Call, named?: string): Promise<Answer> {
    const { name } = call.function
    const listed = this.#tools.find((tool) => tool.function.name === name)?.workflowName ?? ''
    const workflowName = named ?? this.#workflowOf.get(name) ?? listed
    this.#workflowOf.set(name, workflowName)
    const { workflows, env } = this.#options
    const input = { tool_call: call, cost: this.cost, env }
    const answer = await workflows[workflowName + env.WORKFLOW_ENV]?.(input)
    this.cost += answer?.cost ?? 0
    return answer ?? NO_WORKFLOW
  }

  async #repeat(path: string, sent: object, mayRepeat: (lost: Unanswered) => boolean) {
    for (;;) {
      try {
        return await this.#ask(path, sent)
      } catch (error) {
        if (!(error instanceof Unanswered) || !mayRepeat(error)) throw error
        await this.#options.pause()
      }
    }
  }

  async #ask(path: string, sent?: object, known: readonly number[] = []): Promise<{ body: unknown }> {
    // The server may close a kept connection while a request is on its way. Then nobody knows whether the request has arrived.
    const headers = { ...this.#options.headers, Connection: 'close' }
    const init = { headers, ...(sent && { method: 'POST', body: JSON.stringify(sent) }) }
    const lost = new Unanswered('The service did not answer.')
    try {
      const answer = await fetch(`${this.#options.service}/jobs/${path}`, init)
      if (answer.ok || known.includes(answer.status)) return { body: await answer.json() }
      lost.nothingDone = answer.status === 429
      if (answer.status >= 500 || lost.nothingDone) throw lost
      throw new Error(`answered ${answer.status}: ${await answer.text()}`)
    } catch (error) {
      // What `fetch` throws is no TypeError of the realm in which jest runs tests.
      const { name, cause } = error as Error & { cause?: { code?: string } }
      if (name !== 'TypeError') throw error
      lost.nothingDone = cause?.code === 'ECONNREFUSED'
      throw lost
    }
  }
}
