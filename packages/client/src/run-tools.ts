import { isJsonObject, parsedJson, type JsonObject } from '@toolrack/contract'
import { optionInvalid, ToolsError } from './errors.ts'
import { orAborted } from './in-time.ts'
import type { Dispatched } from './model-calls.ts'
import type { ToolDispatcher } from './tool-dispatcher.ts'

/** An endpoint of OpenAI's Chat Completions API. */
export type ChatModel = {
  /** The address, such as `https://api.openai.com/v1/chat/completions`. */
  readonly url: string | URL
  /** The `model` field. */
  readonly name: string
  /** The key, which is sent as `Authorization: Bearer …`. */
  readonly apiKey?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Other fields of the request, such as `temperature`. */
  readonly body?: JsonObject | undefined
  readonly fetch?: typeof fetch | undefined
}

export type RunToolsOptions = {
  readonly model: ChatModel
  /** The conversation so far, in the shape of Chat Completions. The array is not changed. */
  readonly messages: readonly object[]
  /**
   * The tools, or a function that lists them. The function is called before each request to the model. It gets the conversation
   * as it is then.
   */
  readonly tools:
    readonly object[] | ((messages: readonly object[]) => Promise<{ readonly tools: readonly object[] }>)
  readonly dispatcher: Pick<ToolDispatcher, 'dispatch'>
  /** The largest number of requests to the model. The default is 10. */
  readonly stepsMax?: number | undefined
  /** When the signal is aborted, the loop ends, with the request to the model and the calls that are running. */
  readonly signal?: AbortSignal | undefined
}

export type RanTools = {
  /** The text of the model's last message. It can be empty. */
  readonly text: string
  /** The whole conversation, with the new messages at its end. */
  readonly messages: readonly object[]
  /** The number of requests to the model. */
  readonly steps: number
  /**
   * How the loop has ended. `answered`: the model's last message has no calls. `step-limit`: the last message has calls, which
   * were run and answered too. `pending`: the last message has calls of workflows, which the caller must run. Then `messages` has
   * no answers to the calls of this message.
   */
  readonly end: 'answered' | 'step-limit' | 'pending'
  /** Only with `pending`: the results and the pending calls of the model's last message. */
  readonly dispatched?: Dispatched
}

/**
 * Asks the model, runs its calls, and asks again until the model makes no more calls. If a tool fails, the model gets the
 * failure, and the loop goes on. Rejects with MODEL_FAILED if the model cannot be reached or its answer cannot be read. Also
 * rejects with the errors of `dispatch`, and with the reason of `signal`.
 */
export async function runTools(options: RunToolsOptions): Promise<RanTools> {
  const { model, tools, dispatcher, stepsMax = 10, signal } = options
  if (!(stepsMax >= 1)) throw optionInvalid('stepsMax must be at least 1')
  const messages: object[] = [...options.messages]
  for (let steps = 1; ; steps += 1) {
    signal?.throwIfAborted()
    const listed = typeof tools === 'function' ? (await tools([...messages])).tools : tools
    const message = await complete(model, messages, listed, signal)
    messages.push(message)
    const calls = message['tool_calls']
    const isCalling = Array.isArray(calls) && calls.length > 0
    const { content } = message
    const text = typeof content === 'string' ? content : ''
    const dispatched = isCalling ? await dispatcher.dispatch(calls, { signal }) : undefined
    if (dispatched && dispatched.pending.length > 0)
      return { text, messages, steps, end: 'pending', dispatched }
    if (dispatched) messages.push(...dispatched.messages)
    if (isCalling && steps < stepsMax) continue
    return { text, messages, steps, end: isCalling ? 'step-limit' : 'answered' }
  }
}

/** Asks the model once and returns its message. Throws MODEL_FAILED, or the reason of the signal. */
async function complete(
  model: ChatModel,
  messages: readonly object[],
  tools: readonly object[],
  signal: AbortSignal | undefined,
): Promise<JsonObject> {
  const { url, name, apiKey, headers, body, fetch = globalThis.fetch } = model
  try {
    const asked = fetch(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...(apiKey !== undefined && { Authorization: `Bearer ${apiKey}` }),
        ...headers,
      },
      // An empty list of tools is left out, because the API refuses it.
      body: JSON.stringify({ ...body, model: name, messages, ...(tools.length > 0 && { tools }) }),
      ...(signal && { signal }),
    })
    const response = await orAborted(signal, asked)
    return messageIn(response.status, await orAborted(signal, response.text()))
  } catch (cause) {
    signal?.throwIfAborted()
    if (cause instanceof ToolsError) throw cause
    throw new ToolsError('MODEL_FAILED', 'The model cannot be reached, or its answer broke off.', { cause })
  }
}

function messageIn(status: number, text: string): JsonObject {
  const parsed = parsedJson(text)
  const body = isJsonObject(parsed) ? parsed : {}
  const [choice] = Array.isArray(body['choices']) ? (body['choices'] as unknown[]) : []
  const message = isJsonObject(choice) ? choice['message'] : undefined
  if (status < 300 && isJsonObject(message)) return message
  const said = isJsonObject(body['error']) ? body['error']['message'] : undefined
  const why = typeof said === 'string' ? said : 'its answer is not a chat completion; is its address right?'
  throw new ToolsError('MODEL_FAILED', `The model answered ${status}: ${why}`, { status })
}
