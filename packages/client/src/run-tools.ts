import type { JsonObject } from '@toolrack/contract'
import { complete } from './chat-model.ts'
import type { ChatModel } from './chat-model.ts'
import { optionInvalid } from './service.ts'
import type { ToolDispatcher } from './tool-dispatcher.ts'

export type RunToolsOptions = {
  readonly model: ChatModel
  /** The conversation so far, in the shape of Chat Completions. It is not changed. */
  readonly messages: readonly object[]
  /** The tools, or a function that lists them, which is asked before each step. */
  readonly tools: readonly object[] | (() => Promise<{ readonly tools: readonly object[] }>)
  readonly dispatcher: Pick<ToolDispatcher, 'dispatch'>
  /** How often the model may be asked; 10 by default. */
  readonly stepsMax?: number | undefined
  /** Ends the loop, the model's request and the calls that run. */
  readonly signal?: AbortSignal | undefined
}

export type RanTools = {
  /** What the model said last; empty where it said nothing. */
  readonly text: string
  /** The whole conversation, the new messages behind those that were given. */
  readonly messages: readonly object[]
  /** How often the model was asked. */
  readonly steps: number
  /** `answered` when the model called nothing more; `step-limit` when it would have gone on: its last calls were run and answered. */
  readonly end: 'answered' | 'step-limit'
}

/**
 * One tool loop: asks the model, runs what it calls, and asks again until it calls nothing more. Rejects with MODEL_FAILED where the model
 * can not be had, and with the reason of `signal`; a tool that fails is told to the model.
 */
export async function runTools(options: RunToolsOptions): Promise<RanTools> {
  const { model, tools, dispatcher, stepsMax = 10, signal } = options
  if (!(stepsMax >= 1)) throw optionInvalid('stepsMax must be at least 1')
  const messages: object[] = [...options.messages]
  for (let steps = 1; ; steps += 1) {
    signal?.throwIfAborted()
    const listed = typeof tools === 'function' ? (await tools()).tools : tools
    const message = await complete(model, messages, listed, signal)
    messages.push(message)
    const calls = message['tool_calls']
    const isCalling = Array.isArray(calls) && calls.length > 0
    if (isCalling) messages.push(...(await dispatcher.dispatch(calls, { signal })).messages)
    if (!isCalling || steps >= stepsMax)
      return { text: textOf(message), messages, steps, end: isCalling ? 'step-limit' : 'answered' }
  }
}

function textOf({ content }: JsonObject): string {
  return typeof content === 'string' ? content : ''
}
