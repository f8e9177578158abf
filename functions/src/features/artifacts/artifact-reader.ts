import { ToolrackError, type JsonObject } from '@toolrack/contract'
import type { ReadsArtifacts, WantedPart } from '../../catalog/builtin/builtins.ts'
import type { ReadsArtifactsFor } from '../../calls/pipeline/run-tool.ts'
import { STRETCH_MS, Turns, type Pieces } from '../../loop-turn.ts'
import { wholeContent } from './artifact-bytes.ts'
import type { ArtifactStore, Reader } from './artifact-store.ts'
import { artifactNotFound, type Artifact } from './artifact.ts'

/** How many lines a model reads if it does not say how many, and the most that it may ask for. */
const LINES = 200
/** Above this, PAGE_BYTES_MAX ends a page of usual lines before. */
const LINES_MAX = 2_000

/**
 * The most bytes of one page, and of the matches of one search, as a model gets them: as JSON, in which a quote takes two bytes.
 * With the other facts, this is less than a text of which a model gets only a part.
 */
const PAGE_BYTES_MAX = 24 * 1024

/** The most lines that one search returns, if PAGE_BYTES_MAX does not end it before. */
const MATCHES_MAX = 50
/** A longer line is shown up to here, from its beginning. */
const MATCH_LENGTH_MAX = 400

/**
 * The most bytes that one search reads. It takes about a second of processor time with a usual pattern. The answer says where to go
 * on.
 */
const SEARCH_BYTES_MAX = 4 * 1024 * 1024

/** The most milliseconds that one search takes. A pattern can take much longer for each byte than a usual one. */
const SEARCH_MS_MAX = 2_000

/** The most UTF-16 code units that are matched in one step. A longer line is searched in parts of this length. */
const STEP_LENGTH_MAX = 1_024
/** The least that are matched in one step, so that words are found in a long line, however slow the pattern is. */
const STEP_LENGTH_MIN = 128
/**
 * The most work of one step: instructions of the pattern times code units. A step blocks other requests: this one for
 * about 5 ms.
 */
const STEP_WORK_MAX = 200_000
/** A step that takes longer, in milliseconds, makes the following ones half as long: the machine is slow, or the pattern is. */
const STEP_MS_MAX = 2 * STRETCH_MS

/**
 * The most characters of a pattern, and the most times that its counted repetitions repeat together: RE2 writes each one out. The
 * worst pattern within both takes 30 ms to compile.
 */
const PATTERN_LENGTH_MAX = 200
/** As many as `\d{1,3}(\.\d{1,3}){3}` needs, several times. */
const REPETITIONS_MAX = 100

/** The bytes of the content that are read at once for a search. */
const SEARCHED_AT_ONCE = 256 * 1024

/** The most instructions of a compiled pattern. A step of STEP_LENGTH_MIN with so many takes 5 ms. A usual pattern has fewer than 100. */
const PATTERN_SIZE_MAX = 2_000

type Pattern = {
  readonly test: (text: string) => boolean
  /** How many instructions the pattern has. The time of a match is in proportion to them. */
  readonly size: number
}

/** Makes what the tool `read_artifact` reads with. */
export function artifactReader(store: ArtifactStore): ReadsArtifactsFor {
  return (principal, signal): ReadsArtifacts => ({
    read: (part) => readPart(store, principal, part, signal),
  })
}

/** Reads a page of a text, or searches it. Throws ARTIFACT_NOT_FOUND, and ARGUMENTS_INVALID for what is no text or no pattern. */
async function readPart(
  store: ArtifactStore,
  reader: Reader,
  { id, offset = 0, lines = LINES, search }: WantedPart,
  signal: AbortSignal,
): Promise<JsonObject> {
  const artifact = await store.find(reader, id)
  if (offset > artifact.bytes)
    throw invalid(`'offset' is after the end: the artifact has ${artifact.bytes} bytes.`)
  const { name, type, bytes } = artifact
  const found =
    search === undefined
      ? await page(store, artifact, offset, Math.min(Math.max(1, lines), LINES_MAX))
      : await matches(store, artifact, offset, await compiled(search), signal)
  return { id, name, type, bytes, offset, ...found }
}

function invalid(message: string): ToolrackError {
  return new ToolrackError('ARGUMENTS_INVALID', message)
}

/** A part of a text from one character to another. `next` is where the following part begins, or null at the end of the content. */
type Part = { readonly text: string; readonly next: number | null }

async function page(store: ArtifactStore, artifact: Artifact, offset: number, lines: number): Promise<Part> {
  const bytes = fitting(await bytesFrom(store, artifact, offset, PAGE_BYTES_MAX))
  const isLast = offset + bytes.length === artifact.bytes
  let end = 0
  for (let line = 0; line < lines; line += 1) {
    const feed = bytes.indexOf(0x0a, end)
    end = feed === -1 ? bytes.length : feed + 1
    if (end === bytes.length) break
  }
  // A last line that the page has only a part of is left for the next page, unless the page has nothing else.
  if (end === bytes.length && !isLast) {
    const whole = bytes.lastIndexOf(0x0a) + 1
    end = whole > 0 ? whole : wholeCharacters(bytes)
  }
  const next = offset + end
  return { text: textOf(bytes.subarray(0, end)), next: next < artifact.bytes ? next : null }
}

/** The beginning of a text whose JSON has at most PAGE_BYTES_MAX bytes. It may end inside a character. */
function fitting(bytes: Buffer): Buffer {
  let left = PAGE_BYTES_MAX
  for (const [at, byte] of bytes.entries()) {
    left -= jsonBytesOf(byte)
    if (left < 0) return bytes.subarray(0, at)
  }
  return bytes
}

/** Backspace, tab, line feed, form feed and carriage return, which JSON writes as a backslash and a letter. */
const SHORT_ESCAPES: ReadonlySet<number> = new Set([0x08, 0x09, 0x0a, 0x0c, 0x0d])

/** How many bytes JSON takes for a byte of a text in UTF-8. */
function jsonBytesOf(byte: number): number {
  if (byte === 0x22 || byte === 0x5c || SHORT_ESCAPES.has(byte)) return 2
  return byte < 0x20 ? 6 : 1
}

async function matches(
  store: ArtifactStore,
  artifact: Artifact,
  offset: number,
  pattern: Pattern,
  signal: AbortSignal,
): Promise<JsonObject> {
  const endMs = performance.now() + SEARCH_MS_MAX
  const stop = Math.min(artifact.bytes, offset + SEARCH_BYTES_MAX)
  const found = new Matches()
  const step = new SearchStep(pattern)
  const turns = new Turns(signal)
  let at = offset
  while (at < stop && !found.isFull && performance.now() < endMs) {
    const bytes = await bytesFrom(store, artifact, at, SEARCHED_AT_ONCE)
    const isLast = at + bytes.length === artifact.bytes
    const whole = bytes.lastIndexOf(0x0a) + 1
    const end = isLast ? bytes.length : whole > 0 ? whole : wholeCharacters(bytes)
    at += await turns.run(searched(bytes.subarray(0, end), at, step, found, endMs))
  }
  return { matches: [...found.all], next: at < artifact.bytes ? at : null }
}

type Match = { readonly offset: number; readonly text: string }

/** The matches of one search. Together they fit into a page. */
class Matches {
  readonly #all: Match[] = []
  #bytesLeft = PAGE_BYTES_MAX
  #isFull = false

  get all(): readonly Match[] {
    return this.#all
  }

  get isFull(): boolean {
    return this.#isFull || this.#all.length === MATCHES_MAX
  }

  /** Adds a match. Returns false if it does not fit any more; the first one always fits. */
  add(match: Match): boolean {
    this.#bytesLeft -= Buffer.byteLength(JSON.stringify(match)) + 1
    this.#isFull ||= this.#bytesLeft < 0
    if (!this.#isFull) this.#all.push(match)
    return !this.#isFull
  }
}

/** Matches parts of lines that are so short that a step does not block other requests for long. */
class SearchStep {
  readonly #pattern: Pattern
  #length: number

  constructor(pattern: Pattern) {
    this.#pattern = pattern
    const length = Math.floor(STEP_WORK_MAX / pattern.size)
    this.#length = Math.max(STEP_LENGTH_MIN, Math.min(length, STEP_LENGTH_MAX))
  }

  /** How many UTF-16 code units the next step may have. */
  get length(): number {
    return this.#length
  }

  matches(text: string): boolean {
    const fromMs = performance.now()
    const isFound = this.#pattern.test(text)
    if (performance.now() - fromMs > STEP_MS_MAX)
      this.#length = Math.max(STEP_LENGTH_MIN, Math.floor(this.#length / 2))
    return isFound
  }
}

/** The place, or the one before it if the place divides a character of two UTF-16 code units. */
function wholeUntil(text: string, at: number): number {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff ? at - 1 : at
}

/**
 * Searches lines, and adds those that match. Returns how many bytes it has searched before there were enough, or before the time
 * was over. It always searches something, so each search gets further.
 */
function* searched(
  bytes: Buffer,
  offset: number,
  step: SearchStep,
  found: Matches,
  endMs: number,
): Pieces<number> {
  let hasBegun = false
  for (let at = 0; at < bytes.length;) {
    if (found.isFull) return at
    const feed = bytes.indexOf(0x0a, at)
    const end = feed === -1 ? bytes.length : feed + 1
    const line = textOf(bytes.subarray(at, feed === -1 ? end : feed))
    for (let from = 0, to: number; from === 0 || from < line.length; from = to) {
      yield undefined
      if (hasBegun && performance.now() > endMs) return at + Buffer.byteLength(line.slice(0, from))
      hasBegun = true
      to = wholeUntil(line, from + step.length)
      if (!step.matches(line.slice(from, to))) continue
      if (!found.add({ offset: offset + at, text: line.slice(0, MATCH_LENGTH_MAX).toWellFormed() })) return at
      break
    }
    at = end
  }
  return bytes.length
}

/** The bytes from a place on, at most `bytesMax`. */
async function bytesFrom(
  store: ArtifactStore,
  artifact: Artifact,
  start: number,
  bytesMax: number,
): Promise<Buffer> {
  if (start >= artifact.bytes) return Buffer.alloc(0)
  const range = { start, end: Math.min(artifact.bytes, start + bytesMax) - 1 }
  const bytes = await wholeContent(await store.content(artifact, range))
  // Its bytes were lost. A page without any would be read again and again.
  if (bytes.length === 0) throw artifactNotFound()
  return bytes
}

/** How many bytes there are without the beginning of a character at the end. */
function wholeCharacters(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back] ?? 0
    if (byte < 0x80) break
    if (byte >= 0xc0) return bytes.length - back
  }
  return bytes.length
}

function textOf(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw invalid(
      "The artifact is no text in UTF-8 at this place, so it cannot be read here. Give its id to a tool that takes files, or begin at an 'offset' that an earlier answer gave as 'next'.",
    )
  }
}

/** A counted repetition of RE2: `{3}`, `{3,}` or `{3,5}`. */
const REPETITION = /\{(\d{1,9})(?:,(\d{0,9}))?\}/g

/** Compiles a pattern of a model. Its size bounds the time of one step, because RE2 takes time in proportion to both. */
async function compiled(source: string): Promise<Pattern> {
  if (source.length > PATTERN_LENGTH_MAX)
    throw invalid(`'search' has ${source.length} characters; at most ${PATTERN_LENGTH_MAX} are allowed.`)
  let repetitions = 1
  for (const [, least = '', most = ''] of source.matchAll(REPETITION)) {
    repetitions *= Math.max(1, Number(least), Number(most))
  }
  if (repetitions > REPETITIONS_MAX)
    throw invalid(
      `'search' repeats parts ${repetitions} times; together at most ${REPETITIONS_MAX} are allowed.`,
    )
  // Only a search loads the library.
  const { re2Pattern } = await import('../../catalog/schemas/re2-pattern.ts')
  const pattern = attempted(() => re2Pattern(source))
  if (!pattern)
    throw invalid("'search' is no regular expression of RE2, which has no look-around and no back-reference.")
  if (pattern.size > PATTERN_SIZE_MAX)
    throw invalid(
      `'search' has ${pattern.size} instructions when its repetitions are written out; at most ${PATTERN_SIZE_MAX} are allowed. Repeat less, or use '*'.`,
    )
  return pattern
}

function attempted<Value>(make: () => Value): Value | undefined {
  try {
    return make()
  } catch {
    return undefined
  }
}
