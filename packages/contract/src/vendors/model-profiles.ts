import type { Dialect } from './registry.ts'

/** How a model can use tools. */
export type ModelProfile = {
  /** The dialect for the `tools` field of the model's vendor. */
  readonly dialect: Dialect
  /** The most tools that the model should get. */
  readonly toolsMax: number
  /**
   * True if a list may have tools by name only. A small model would call such a tool without arguments, and not load it first.
   */
  readonly defers: boolean
}

/**
 * The most functions of one request, as OpenAI and Gemini document it. Anthropic and Mistral document no number, so the same
 * number is assumed.
 */
const VENDOR_TOOLS_MAX = 128
/**
 * The most tools for a small model. Models choose worse among more than 30 to 50 tools. Which models count as small is an
 * estimate. `maxTools` in a request has priority.
 */
const SMALL_TOOLS_MAX = 30

/** The profiles by the beginning of a model's name. The longest beginning that fits is used. */
const PROFILES: Readonly<Record<string, ModelProfile>> = {
  'gpt-': { dialect: 'openai', toolsMax: VENDOR_TOOLS_MAX, defers: true },
  'gpt-3.5': { dialect: 'openai', toolsMax: SMALL_TOOLS_MAX, defers: false },
  chatgpt: { dialect: 'openai', toolsMax: VENDOR_TOOLS_MAX, defers: true },
  o1: { dialect: 'openai', toolsMax: VENDOR_TOOLS_MAX, defers: true },
  o3: { dialect: 'openai', toolsMax: VENDOR_TOOLS_MAX, defers: true },
  o4: { dialect: 'openai', toolsMax: VENDOR_TOOLS_MAX, defers: true },
  claude: { dialect: 'anthropic', toolsMax: VENDOR_TOOLS_MAX, defers: true },
  gemini: { dialect: 'gemini', toolsMax: VENDOR_TOOLS_MAX, defers: true },
  gemma: { dialect: 'openai', toolsMax: SMALL_TOOLS_MAX, defers: false },
  llama: { dialect: 'openai', toolsMax: SMALL_TOOLS_MAX, defers: false },
  mistral: { dialect: 'openai', toolsMax: VENDOR_TOOLS_MAX, defers: true },
  ministral: { dialect: 'openai', toolsMax: SMALL_TOOLS_MAX, defers: false },
  qwen: { dialect: 'openai', toolsMax: SMALL_TOOLS_MAX, defers: false },
  phi: { dialect: 'openai', toolsMax: SMALL_TOOLS_MAX, defers: false },
}

/**
 * The profile of a model. Upper and lower case are the same. A gateway may put the vendor before the name, as in `openai/gpt-4o`.
 * Undefined if no beginning fits.
 */
export function modelProfile(model: string): ModelProfile | undefined {
  const name = model.toLowerCase().slice(model.lastIndexOf('/') + 1)
  const fitting = Object.keys(PROFILES).filter((prefix) => name.startsWith(prefix))
  const [longest] = fitting.toSorted((a, b) => b.length - a.length)
  return longest === undefined ? undefined : PROFILES[longest]
}
