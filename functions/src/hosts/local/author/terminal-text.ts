import { harmless } from '../../../log.ts'

/** A text of several lines without characters that could act on a terminal. */
export function terminalText(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => harmless(line.replaceAll('\t', '    ')))
    .join('\n')
}

/** The lines of a text, each behind `margin`, without characters that could act on a terminal. */
export function indented(text: string, margin: string): readonly string[] {
  const lines = terminalText(text.replace(/\r?\n$/, '')).split('\n')
  return lines.map((line) => `${margin}${line}`)
}
