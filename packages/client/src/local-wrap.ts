import { composeWrap, guideText, isJsonObject } from '@toolrack/contract'
import type { FittedTools, GuidedTool, JsonObject, WrapBill, WrapLayer } from '@toolrack/contract'

export type CountTokens = (text: string) => number | Promise<number>

/**
 * How many UTF-8 bytes count as one token in the estimate. In English text, a token has about four bytes, so the estimate is
 * high.
 */
const BYTES_PER_TOKEN = 2

/**
 * Estimates the tokens of a text, one for every two bytes of UTF-8. Usual texts and tools take fewer tokens. A text of only
 * punctuation or random letters can take more, at most one for each byte.
 */
export function estimateTokens(text: string): number {
  return Math.ceil(new TextEncoder().encode(text).length / BYTES_PER_TOKEN)
}

export type LocalWrap = {
  readonly targetTokens: number
  readonly toolsTokens?: number | undefined
  readonly toolsMax?: number | undefined
  readonly guide?: boolean | undefined
  readonly layers: readonly WrapLayer[]
}

type Listed = { readonly tools: readonly JsonObject[]; readonly dropped: number }

type LocallyWrapped = {
  readonly text: string
  readonly system: string
  readonly context: string
  readonly tools: readonly JsonObject[]
  readonly bill: WrapBill & {
    readonly tools: {
      readonly full: number
      readonly short: 0
      readonly deferred: 0
      readonly dropped: number
    }
  }
}

/**
 * Composes a prompt from tools that were listed before. Those that fit stay in the order of the list, with their full
 * definitions. The others are dropped.
 */
export async function localWrap(
  listed: readonly JsonObject[],
  asked: LocalWrap,
  count: CountTokens,
): Promise<LocallyWrapped> {
  const {
    tools: kept,
    bill,
    ...texts
  } = await composeWrap<Listed>({
    ...asked,
    count,
    fitTools: (room) => fitted(listed, room, asked, count),
  })
  const declared = declaredIn(kept.tools)
  const tools = { full: declared.length, short: 0, deferred: 0, dropped: kept.dropped } as const
  return { ...texts, tools: kept.tools, bill: { ...bill, tools } }
}

async function fitted(
  listed: readonly JsonObject[],
  room: number,
  { toolsMax = Infinity, guide }: LocalWrap,
  count: CountTokens,
): Promise<FittedTools<Listed>> {
  const all = declaredIn(listed)
  const isInOneTool = all !== listed
  const listOf = (some: readonly JsonObject[]): readonly JsonObject[] =>
    isInOneTool && some.length > 0 ? [{ functionDeclarations: some }] : some
  const kept: JsonObject[] = []
  let used = 0
  for (const tool of all) {
    const tokens = kept.length < toolsMax ? await count(JSON.stringify(tool)) : Infinity
    if (used + tokens > room) continue
    kept.push(tool)
    used += tokens
  }
  // The brackets and commas of the list take tokens too. So the tokens of the whole list are counted.
  let tokens = await count(JSON.stringify(listOf(kept)))
  while (kept.length > 0 && tokens > room) {
    kept.pop()
    tokens = await count(JSON.stringify(listOf(kept)))
  }
  const dropped = all.length - kept.length
  return {
    tools: { tools: listOf(kept), dropped },
    tokens: kept.length === 0 ? 0 : tokens,
    outcome: dropped === 0 ? 'whole' : kept.length === 0 ? 'dropped' : 'cut',
    guide: guide ? guideText(kept.map(guided)) : undefined,
  }
}

/** The single tools in a list. A list for Gemini has one element, which contains all declarations. */
function declaredIn(tools: readonly JsonObject[]): readonly JsonObject[] {
  const declarations = tools[0]?.['functionDeclarations']
  return Array.isArray(declarations) ? (declarations as readonly JsonObject[]) : tools
}

/** The name, the description and the parameters of a tool in any dialect. */
function guided(tool: JsonObject): GuidedTool {
  const described = isJsonObject(tool['function']) ? tool['function'] : tool
  const { name, description, parameters, input_schema, inputSchema, parametersJsonSchema } = described
  const schema = parameters ?? input_schema ?? inputSchema ?? parametersJsonSchema
  return {
    name: typeof name === 'string' ? name : '',
    description: typeof description === 'string' ? description : '',
    parameters: isJsonObject(schema) ? schema : {},
  }
}
