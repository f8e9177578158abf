/** Matches what can be before the first key of a line in YAML: blanks, the dashes of list items, and a quote. */
const BEFORE_KEY = /^[^\S\n]*(?:-[^\S\n]+)*["']?$/
/** The most characters before a key: its indentation, and the dashes of list items. */
const BEFORE_KEY_LENGTH_MAX = 256

/** What matters about one line of a text in YAML and similar formats. */
export type Line = {
  readonly isBlank: boolean
  readonly indent: number
  /** Three positions: of the first character that is not blank, after the last such character, and of the next line. */
  readonly start: number
  readonly end: number
  readonly next: number
  /** True for an item of a list. */
  readonly isItem: boolean
  readonly isKey: boolean
}

/** The line that begins at `at`. */
export function lineAt(text: string, at: number): Line {
  const newLine = text.indexOf('\n', at)
  const whole = text.slice(at, newLine === -1 ? text.length : newLine)
  const used = whole.trimEnd()
  const indent = used.length - used.trimStart().length
  return {
    isBlank: used === '',
    indent,
    start: at + indent,
    end: at + used.length,
    next: newLine === -1 ? text.length : newLine + 1,
    isItem: /^\s*-(?:\s|$)/.test(used),
    isKey: /^\s*["']?[\w.-]{1,64}["']?:(?:\s|$)/.test(used),
  }
}

/** True if a line belongs to the value of a key at `column` in YAML. Items of a list need not be indented more than the key. */
export function isBelowKey({ indent, isItem }: Line, column: number, isText: boolean): boolean {
  return column >= 0 && (indent > column || (!isText && isItem && indent === column))
}

/**
 * The column of a key, if no other key is before it in its line. Otherwise -1. `lineBefore` is the beginning of the first line,
 * if it was in an earlier text.
 */
export function keyColumn(lineBefore: string, text: string, start: number): number {
  const lineStart = text.lastIndexOf('\n', start - 1) + 1
  const before = (lineStart === 0 ? lineBefore : '') + text.slice(lineStart, start)
  if (before.length > BEFORE_KEY_LENGTH_MAX || !BEFORE_KEY.test(before)) return -1
  return before.replace(/["']$/, '').length
}

/** The beginning of the last line, if the text ends within a line. It has only as many characters as `keyColumn` needs. */
export function lastLine(lineBefore: string, text: string): string {
  const lineStart = text.lastIndexOf('\n') + 1
  return ((lineStart === 0 ? lineBefore : '') + text.slice(lineStart)).slice(0, BEFORE_KEY_LENGTH_MAX + 1)
}
