import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { tokenCounter, type TokenCounter } from '../../catalog/tokens/token-counter.ts'
import type { ToolInAnswer } from '../../catalog/views/list-answer.ts'
import { Turns } from '../../loop-turn.ts'

/** The tools of a list that was sent, and where their texts are in its body. */
export type SentTools = {
  readonly body: Buffer
  readonly tools: readonly ToolInAnswer[]
  /** The bytes that are kept for the list. */
  readonly bytes: number
}

export type ToolTokens = Pick<ToolInAnswer, 'name' | 'isOwn'> & { readonly tokens: number }

/** The most texts of tools whose tokens are remembered. They take about 3 MB. */
const TEXTS_MAX = 20_000
/**
 * The most bytes of new texts of one list that are counted exactly. This takes about half a second of processor time, in turns
 * with requests. The tokens of further texts are estimated from their bytes.
 */
const COUNTED_BYTES_MAX = 1024 * 1024
/** The bytes of a token in the JSON of definitions, for the estimate. */
const TOKEN_BYTES = 4.5

/** Counts the tokens of each tool in a list. Each text is counted once. */
export class ListTokens {
  readonly #counter: () => Promise<TokenCounter>
  readonly #ofLists = new WeakMap<SentTools, readonly ToolTokens[]>()
  readonly #ofTexts = new LRUCache<string, number>({ max: TEXTS_MAX })

  constructor(counter: () => Promise<TokenCounter> = tokenCounter) {
    this.#counter = counter
  }

  /** The tokens of the tools of a list, without the commas between them. Rejects if the vocabulary cannot be loaded. */
  async of(list: SentTools, turns = new Turns()): Promise<readonly ToolTokens[]> {
    const known = this.#ofLists.get(list)
    if (known) return known
    const counted: ToolTokens[] = []
    let countedBytes = 0
    for (const { name, isOwn, start, end, tokens } of list.tools) {
      if (turns.isDue) await turns.give()
      const text = tokens === undefined ? list.body.toString('utf8', start, end) : ''
      const key = tokens === undefined ? hash('sha1', text, 'base64') : ''
      let count = tokens ?? this.#ofTexts.get(key)
      if (count === undefined && countedBytes + text.length > COUNTED_BYTES_MAX)
        count = Math.round((end - start) / TOKEN_BYTES)
      else if (count === undefined) {
        countedBytes += text.length
        count = await turns.run((await this.#counter()).steps(text))
        this.#ofTexts.set(key, count)
      }
      counted.push({ name, isOwn, tokens: count })
    }
    this.#ofLists.set(list, counted)
    return counted
  }
}
