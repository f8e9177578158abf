import { cutText, type CountTokens } from './cut-text.ts'

/** A part of a prompt's text. Layers with lower priorities stand first and are kept longest. */
export type WrapLayer = { readonly name: string; readonly text: string; readonly priority: number }

/** `cut`: only the beginning of the text is in the prompt, or not every tool is there whole. `dropped`: nothing of it is. */
export type LayerOutcome = 'whole' | 'cut' | 'dropped'

export type BilledLayer = {
  readonly name: string
  /** With the blank line before the layer, if there is one. */
  readonly tokens: number
  readonly outcome: LayerOutcome
}

/** What a prompt takes. `total` is the sum of the layers, and what `text` and the JSON of `tools` take. */
export type WrapBill = { readonly total: number; readonly layers: readonly BilledLayer[] }

/** Tools that take at most the tokens that they were given. No tools take no tokens, because no vendor is sent an empty list. */
export type FittedTools<Tools> = {
  readonly tools: Tools
  readonly tokens: number
  readonly outcome: LayerOutcome
  /** The guide to these tools, if the prompt's text is to have it. */
  readonly guide?: string | undefined
}

export type WrapParts<Tools> = {
  readonly targetTokens: number
  /** The most that tools may take. The default is a quarter of `targetTokens`. */
  readonly toolsTokens?: number | undefined
  readonly layers: readonly WrapLayer[]
  readonly fitTools: (tokens: number) => FittedTools<Tools> | Promise<FittedTools<Tools>>
  readonly count: CountTokens
}

/** `system` is what `text` has of the layer `system`, and `context` what it has of all others, in their order. Each may be empty. */
export type Wrap<Tools> = {
  readonly text: string
  readonly system: string
  readonly context: string
  readonly tools: Tools
  readonly bill: WrapBill
}

/** The names of the layers that a prompt has besides the given ones, and their priority. */
export const WRAP_LAYERS = ['tools', 'guide'] as const
export const TOOLS_PRIORITY = 50
export const SYSTEM_LAYER: Pick<WrapLayer, 'name' | 'priority'> = { name: 'system', priority: 0 }

/** The part of the tokens that tools may take: one in so many. */
const TOOLS_SHARE = 4

/**
 * Composes a prompt that takes at most `targetTokens`. Each layer takes what it needs of what is left, in the order of priorities. The
 * first layer that does not fit is cut behind a sentence or a line, and everything after it is dropped. Tools are different: they fit
 * themselves into their share. So it never throws, unless `fitTools` or `count` does.
 */
export async function composeWrap<Tools>(parts: WrapParts<Tools>): Promise<Wrap<Tools>> {
  const { targetTokens, toolsTokens = Math.floor(targetTokens / TOOLS_SHARE), layers, count } = parts
  const sorted = layers.toSorted((a, b) => a.priority - b.priority)
  const prompt = new PromptText(targetTokens, count)
  for (const layer of sorted) if (layer.priority < TOOLS_PRIORITY) await prompt.add(layer)
  const { tools, tokens, outcome, guide } = await parts.fitTools(Math.min(toolsTokens, prompt.room))
  prompt.bill({ name: 'tools', tokens, outcome })
  if (guide !== undefined) await prompt.add({ name: 'guide', text: guide })
  for (const layer of sorted) if (layer.priority >= TOOLS_PRIORITY) await prompt.add(layer)
  const { text, system, context, billed } = prompt
  return {
    text,
    system,
    context,
    tools,
    bill: { total: billed.reduce((sum, one) => sum + one.tokens, 0), layers: billed },
  }
}

/** What the text has of a layer. The joint is what stands before it. */
type KeptLayer = { readonly name: string; readonly joint: string; readonly text: string }

function joined([first, ...others]: readonly KeptLayer[]): string {
  return (first?.text ?? '') + others.map(({ joint, text }) => joint + text).join('')
}

class PromptText {
  readonly billed: BilledLayer[] = []
  readonly #count: CountTokens
  readonly #kept: KeptLayer[] = []
  #left: number
  #text = ''
  /** True from the first layer that did not fit. */
  #isFull = false

  constructor(targetTokens: number, count: CountTokens) {
    this.#left = targetTokens
    this.#count = count
  }

  get text(): string {
    return this.#text
  }

  get system(): string {
    return joined(this.#kept.filter(({ name }) => name === SYSTEM_LAYER.name))
  }

  get context(): string {
    return joined(this.#kept.filter(({ name }) => name !== SYSTEM_LAYER.name))
  }

  get room(): number {
    return this.#isFull ? 0 : Math.max(0, this.#left)
  }

  bill(layer: BilledLayer): void {
    this.billed.push(layer)
    this.#left -= layer.tokens
  }

  /** Adds the text of a layer without the white space at its ends. */
  async add({ name, text }: Pick<WrapLayer, 'name' | 'text'>): Promise<void> {
    const trimmed = text.trim()
    if (this.#isFull) return this.bill({ name, tokens: 0, outcome: 'dropped' })
    if (trimmed === '') return this.bill({ name, tokens: 0, outcome: 'whole' })
    const { joint, tokens: ofJoint } = await this.#jointBefore(trimmed)
    const whole = { text: trimmed, tokens: await this.#count(trimmed) }
    const room = this.room - ofJoint
    this.#isFull = whole.tokens > room
    const kept = this.#isFull ? await cutText(whole, room, this.#count) : whole
    if (kept.text === '') return this.bill({ name, tokens: 0, outcome: 'dropped' })
    this.#text += joint + kept.text
    this.#kept.push({ name, joint, text: kept.text })
    this.bill({ name, tokens: ofJoint + kept.tokens, outcome: this.#isFull ? 'cut' : 'whole' })
  }

  /**
   * A blank line. The encoders of OpenAI split a text before they join characters to tokens. They always split behind a line's end,
   * except where a slash follows signs and a line's end. A blank before the line's end prevents this exception. So the tokens of a
   * prompt are the sum of those of its parts. The blank is also there if the joint would save a token, which parts that are sent
   * apart do not.
   */
  async #jointBefore(text: string): Promise<{ readonly joint: string; readonly tokens: number }> {
    if (this.#text === '') return { joint: '', tokens: 0 }
    const plain = text.startsWith('/') ? -1 : await jointTokens(this.#text, PLAIN_JOINT, this.#count)
    if (plain >= 0) return { joint: PLAIN_JOINT, tokens: plain }
    return { joint: SAFE_JOINT, tokens: await jointTokens(this.#text, SAFE_JOINT, this.#count) }
  }
}

const PLAIN_JOINT = '\n\n'
const SAFE_JOINT = ' \n\n'

/** The marks at the end of a text that encoders join with the end of a line. They split before them. */
const LAST_MARKS = /(?:^|[A-Za-z0-9])([^\p{L}\p{N}\p{M}\s'’]*)$/u
const TAIL_LENGTH = 64

/** What a joint adds to the tokens of the text before it. */
async function jointTokens(before: string, joint: string, count: CountTokens): Promise<number> {
  const marks = LAST_MARKS.exec(before.slice(-TAIL_LENGTH))?.[1]
  // The marks at the beginning of the looked at part may go on before it.
  const tail = marks === undefined || marks.length === TAIL_LENGTH ? before : marks
  return (await count(tail + joint)) - (tail === '' ? 0 : await count(tail))
}
