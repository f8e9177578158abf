import { harmless } from '../../../log.ts'

/** Removes the characters that could control a terminal from a text of several lines. */
export function terminalText(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => harmless(line.replaceAll('\t', '    ')))
    .join('\n')
}

/** The lines of a text, each after `margin`, without the characters that could control a terminal. */
export function indented(text: string, margin: string): readonly string[] {
  const lines = terminalText(text.replace(/\r?\n$/, '')).split('\n')
  return lines.map((line) => `${margin}${line}`)
}
