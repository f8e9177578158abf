import { jsonPointer } from '@toolrack/contract'

/** Matches a string, a bracket, a comma, a line feed, or any other value. */
const TOKEN = /"[^"\\]*(?:\\[^][^"\\]*)*"|[{}[\],]|\n|[^\s{}[\],:"]+/g

type Frame = { readonly isObject: boolean; at: string | number; expectsKey: boolean }

/**
 * For each value in a JSON text, by its JSON Pointer, the line in which it begins. For a member of an object, it is the line of
 * the key. The text must be valid JSON. The first line is 1.
 */
export function linesOf(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>()
  const frames: Frame[] = []
  let line = 1
  const note = (): void => {
    const pointer = jsonPointer(frames.map(({ at }) => at))
    if (!lines.has(pointer)) lines.set(pointer, line)
  }
  for (const [token] of text.matchAll(TOKEN)) {
    const frame = frames.at(-1)
    if (token === '\n') line += 1
    else if (token === '}' || token === ']') frames.pop()
    else if (token === ',') {
      if (frame?.isObject) frame.expectsKey = true
      else if (frame) frame.at = Number(frame.at) + 1
    } else if (frame?.expectsKey) {
      frame.at = JSON.parse(token) as string
      frame.expectsKey = false
      note()
    } else {
      note()
      if (token === '{') frames.push({ isObject: true, at: '', expectsKey: true })
      if (token === '[') frames.push({ isObject: false, at: 0, expectsKey: false })
    }
  }
  return lines
}
