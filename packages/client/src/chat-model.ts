import { isJsonObject } from '@toolrack/contract'
import type { JsonObject } from '@toolrack/contract'
import { orAborted } from './in-time.ts'
import { ToolsError } from './tools-error.ts'

/** A chat endpoint that speaks OpenAI's Chat Completions. */
export type ChatModel = {
  /** The address of the completions: `https://api.openai.com/v1/chat/completions`. */
  readonly url: string | URL
  /** The `model` field. */
  readonly name: string
  /** Sent as `Authorization: Bearer …`. */
  readonly apiKey?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** Further fields of the request, such as `temperature`. */
  readonly body?: JsonObject | undefined
  readonly fetch?: typeof fetch | undefined
}

/** Asks for one completion, and returns the assistant's message as it came. Throws MODEL_FAILED, or the reason of the signal. */
export async function complete(
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
      // A vendor refuses an empty list.
      body: JSON.stringify({ ...body, model: name, messages, ...(tools.length > 0 && { tools }) }),
      ...(signal && { signal }),
    })
    const response = await orAborted(signal, asked)
    return messageIn(response.status, await orAborted(signal, response.text()))
  } catch (cause) {
    signal?.throwIfAborted()
    if (cause instanceof ToolsError) throw cause
    throw new ToolsError('MODEL_FAILED', 'The model can not be reached, or its answer broke off.', { cause })
  }
}

function messageIn(status: number, text: string): JsonObject {
  const body = parsed(text)
  const [choice] = Array.isArray(body['choices']) ? (body['choices'] as unknown[]) : []
  const message = isJsonObject(choice) ? choice['message'] : undefined
  if (status < 300 && isJsonObject(message)) return message
  const said = isJsonObject(body['error']) ? body['error']['message'] : undefined
  const why = typeof said === 'string' ? said : 'its answer is no chat completion; is its address right?'
  throw new ToolsError('MODEL_FAILED', `The model answered ${status}: ${why}`, { status })
}

function parsed(text: string): JsonObject {
  try {
    const body: unknown = JSON.parse(text)
    return isJsonObject(body) ? body : {}
  } catch {
    return {}
  }
}
