import { cutText, type CountTokens } from './cut-text.ts'

/** A part of a prompt's text. Layers with a lower `priority` come first and are shortened last. */
export type WrapLayer = { readonly name: string; readonly text: string; readonly priority: number }

/**
 * How much of a layer is in the prompt. `cut` means only the beginning of a text, or tools of which not all have their full
 * definitions. `dropped` means nothing.
 */
export type LayerOutcome = 'whole' | 'cut' | 'dropped'

export type BilledLayer = {
  readonly name: string
  /** The tokens of the layer, with the blank line before it. */
  readonly tokens: number
  readonly outcome: LayerOutcome
}

/**
 * How many tokens a prompt takes. `total` is the sum of its layers. It equals the tokens of `text` and of the JSON of `tools`.
 */
export type WrapBill = { readonly total: number; readonly layers: readonly BilledLayer[] }

/** Tools that take at most the given number of tokens. An empty list takes none, because it is not sent to a vendor. */
export type FittedTools<Tools> = {
  readonly tools: Tools
  readonly tokens: number
  readonly outcome: LayerOutcome
  /** The guide to these tools, if the text of the prompt should contain one. */
  readonly guide?: string | undefined
}

export type WrapParts<Tools> = {
  readonly targetTokens: number
  /** The most tokens that tools may take. The default is a quarter of `targetTokens`. */
  readonly toolsTokens?: number | undefined
  readonly layers: readonly WrapLayer[]
  readonly fitTools: (tokens: number) => FittedTools<Tools> | Promise<FittedTools<Tools>>
  readonly count: CountTokens
}

/**
 * A composed prompt. `system` is the text of the layer `system`. `context` is the text of all other layers, in their order. Both
 * may be empty.
 */
export type Wrap<Tools> = {
  readonly text: string
  readonly system: string
  readonly context: string
  readonly tools: Tools
  readonly bill: WrapBill
}

/** The names of the layers that a prompt can have in addition to those that the caller gives, and their priority. */
export const WRAP_LAYERS = ['tools', 'guide'] as const
export const TOOLS_PRIORITY = 50
export const SYSTEM_LAYER: Pick<WrapLayer, 'name' | 'priority'> = { name: 'system', priority: 0 }

/** The share of the tokens that tools may take, as a divisor: a quarter. */
const TOOLS_SHARE = 4

/**
 * Composes a prompt of at most `targetTokens` tokens. The layers take their tokens in the order of their priorities. The first
 * layer that does not fit is cut after a sentence or a line, and all layers after it are dropped. Only for tools it is different:
 * `fitTools` fits them into their share. Throws only if `fitTools` or `count` throws.
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

/** The text of a layer in the prompt. `joint` is the white space before it. */
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
  /** True after the first layer that did not fit. */
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

  /** Adds the text of a layer, without white space at its ends. */
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
   * The blank line before a layer. OpenAI's encoders split a text before they join characters to tokens. They split after each
   * line end, except before a slash if punctuation stands before the line end. A blank before the line end prevents this
   * exception. So the tokens of a prompt are the sum of the tokens of its parts. The blank is also used if the plain joint would
   * save a token, because parts that are sent separately do not save it.
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

/** Matches the punctuation at the end of a text. Encoders join it with the line end that follows, and split before it. */
const LAST_MARKS = /(?:^|[A-Za-z0-9])([^\p{L}\p{N}\p{M}\s'’]*)$/u
const TAIL_LENGTH = 64

/** How many tokens a joint adds after this text. */
async function jointTokens(before: string, joint: string, count: CountTokens): Promise<number> {
  const marks = LAST_MARKS.exec(before.slice(-TAIL_LENGTH))?.[1]
  // If the punctuation fills the whole tail, it may begin before the tail. Then the whole text is counted.
  const tail = marks === undefined || marks.length === TAIL_LENGTH ? before : marks
  return (await count(tail + joint)) - (tail === '' ? 0 : await count(tail))
}
