import { isJsonObject, parsedJson, type Digest, type OwnedRules } from '@toolrack/contract'
import type { Log } from '../../log.ts'
import type { LayerRead } from '../../catalog/views/layer-source.ts'
import { sha256 } from '../rules/kept-rules.ts'
import { newMark, ruleText } from '../rules/rule-marks.ts'
import { MARKS, type RuleStore } from '../rules/rule-store.ts'

/** The most tools that have a mark. If there are more, the oldest marks are dropped, and the answers for their tools end. */
export const MARKED_TOOLS_MAX = 1_000

type Parts = {
  readonly store: Pick<RuleStore, 'read' | 'change'>
  /** The operator's rules, which come from a file. */
  readonly operator: OwnedRules | undefined
  /** False as long as the file layer may lack definitions that it had before, for example because modules are still checked. */
  readonly isComplete: () => boolean
  readonly log: Log
}

/** What an approval is asked for: a tool of the file layer, and the texts of rules of the operator. */
export type AskedFiles = {
  readonly tool?: { readonly name: string; readonly digest: Digest } | undefined
  readonly rules: readonly string[]
}

/** The marks of the asked tool and of the asked rules, in the order of the rules. Undefined where there is no mark. */
export type FoundMarks = {
  readonly tool: string | undefined
  readonly rules: readonly (string | undefined)[]
}

/** The marks as they are stored: of tools by name with the beginning of their digest, and of rules by a hash of their text. */
type Marks = {
  readonly tools: ReadonlyMap<string, readonly [digest: string, mark: string]>
  readonly rules: ReadonlyMap<string, string>
}

/**
 * Marks for definitions of the file layer and for the operator's rules, because no store gives them a version. A mark is made
 * when an approval is first asked for the definition or the rule. The mark is dropped for good when a server sees that the file
 * has another definition or rule there. So an `always` with the mark stays without effect, even if the older file comes back. As
 * long as no approval is asked for, nothing is stored.
 */
export class FileMarks {
  readonly #parts: Parts
  readonly #operators: ReadonlySet<string>
  #digests: ReadonlyMap<string, Digest> | undefined
  /** The state of the files that was last compared with the stored marks. */
  #compared: { readonly digests: unknown; readonly isComplete: boolean } | undefined
  #comparing: Promise<void> | undefined
  #isLost = false

  constructor(parts: Parts) {
    this.#parts = parts
    const { default: byDefault, rules = [] } = parts.operator?.set ?? {}
    const asking = [...rules.map(ruleText), ...(byDefault === 'ask' ? ['default'] : [])]
    this.#operators = new Set(asking.map(keyOfRule))
  }

  /**
   * To be called with each read of the file layer. If the layer has changed, compares it with the stored marks in the background.
   */
  sees({ whole, definitions }: Pick<LayerRead, 'whole' | 'definitions'>): void {
    if (whole) this.#digests = new Map(definitions.map(({ name, digest }) => [name, digest]))
    void this.compare()
  }

  /**
   * Drops the marks of definitions and rules that the files no longer have. Never rejects: after a failure, the next read of the
   * layer compares again.
   */
  compare(): Promise<void> {
    return (this.#comparing ??= this.#compare().finally(() => (this.#comparing = undefined)))
  }

  /** The stored marks of a tool and of rules. Writes nothing. */
  async find(asked: AskedFiles): Promise<FoundMarks> {
    return marksIn(readMarks(await this.#parts.store.read(MARKS)), this.#present(asked))
  }

  /** Finds marks, and makes and stores the missing ones. A tool whose file has changed since it was asked for gets no mark. */
  async make(asked: AskedFiles): Promise<FoundMarks> {
    const wanted = this.#present(asked)
    const { store } = this.#parts
    const found = marksIn(readMarks(await store.read(MARKS)), wanted)
    if (isWhole(found, wanted)) return found
    const mark = newMark()
    return store.change(MARKS, (before) => {
      const marks = withMarks(readMarks(before), wanted, mark)
      return { text: marksText(marks), result: marksIn(marks, wanted) }
    })
  }

  async #compare(): Promise<void> {
    const { store, isComplete, log } = this.#parts
    for (;;) {
      const seen = { digests: this.#digests, isComplete: isComplete() }
      const { digests, isComplete: wasComplete } = this.#compared ?? {}
      if (this.#compared && digests === seen.digests && wasComplete === seen.isComplete) return
      try {
        const before = await store.read(MARKS)
        if (before !== undefined && this.#kept(before) !== before)
          await store.change(MARKS, (text) => ({ text: text && this.#kept(text), result: undefined }))
        this.#compared = seen
        this.#isLost = false
      } catch (error) {
        const reason = error instanceof Error ? error.message : 'unknown'
        if (!this.#isLost) log.warn('the marks of files could not be compared', { reason })
        this.#isLost = true
        return
      }
    }
  }

  /** The stored text without the marks of changed definitions and rules. */
  #kept(text: string): string {
    const { tools, rules } = readMarks(text)
    const digests = this.#digests
    const isComplete = this.#parts.isComplete()
    const isSame = (name: string, digest: string): boolean => {
      const present = digests?.get(name)
      return present === undefined ? !digests || !isComplete : shortOf(present) === digest
    }
    return marksText({
      tools: new Map([...tools].filter(([name, [digest]]) => isSame(name, digest))),
      rules: new Map([...rules].filter(([key]) => this.#operators.has(key))),
    })
  }

  /** The asked tool and rules. The tool is left out if it has changed in the newest read of the layer. */
  #present({ tool, rules }: AskedFiles): AskedFiles {
    const isPresent = !this.#digests || (tool && this.#digests.get(tool.name) === tool.digest)
    return { tool: isPresent ? tool : undefined, rules }
  }
}

function marksIn({ tools, rules }: Marks, asked: AskedFiles): FoundMarks {
  const [digest, mark] = (asked.tool && tools.get(asked.tool.name)) ?? []
  const isSame = asked.tool !== undefined && digest === shortOf(asked.tool.digest)
  return { tool: isSame ? mark : undefined, rules: asked.rules.map((text) => rules.get(keyOfRule(text))) }
}

function isWhole(found: FoundMarks, { tool }: AskedFiles): boolean {
  return (tool === undefined || found.tool !== undefined) && !found.rules.includes(undefined)
}

/** The marks, with `mark` for each asked tool and rule that has none. */
function withMarks(known: Marks, asked: AskedFiles, mark: string): Marks {
  const found = marksIn(known, asked)
  const tools = new Map(known.tools)
  if (asked.tool && found.tool === undefined) {
    tools.delete(asked.tool.name)
    tools.set(asked.tool.name, [shortOf(asked.tool.digest), mark])
  }
  for (const name of tools.keys()) {
    if (tools.size <= MARKED_TOOLS_MAX) break
    tools.delete(name)
  }
  const made = asked.rules.flatMap((text, at) =>
    found.rules[at] === undefined ? [[keyOfRule(text), mark] as const] : [],
  )
  return { tools, rules: new Map([...known.rules, ...made]) }
}

/** The beginning of a digest. Only this part is stored. */
function shortOf(digest: Digest): string {
  return digest.slice('sha256:'.length, 31)
}

function keyOfRule(text: string): string {
  return `r${sha256(text).slice(0, 23)}`
}

function marksText({ tools, rules }: Marks): string {
  return JSON.stringify({ tools: Object.fromEntries(tools), rules: Object.fromEntries(rules) })
}

/** Reads a text of `marksText`. Any other text counts as no marks, which ends all answers. */
function readMarks(text: string | undefined): Marks {
  const read = text === undefined ? undefined : parsedJson(text)
  const { tools = {}, rules = {} } = (isJsonObject(read) ? read : {}) as Partial<StoredMarks>
  return { tools: new Map(Object.entries(tools)), rules: new Map(Object.entries(rules)) }
}

type StoredMarks = {
  readonly tools: Readonly<Record<string, readonly [string, string]>>
  readonly rules: Readonly<Record<string, string>>
}
