/** Where JSON.parse stopped, as "(line 3, column 7)", so that an author finds it; without the text around it. */
export function jsonPosition(text: string, error: unknown): string {
  const position = / at position (\d+)/.exec((error as Error).message)?.[1]
  if (position === undefined) return '(it ends too early)'
  const before = text.slice(0, Number(position)).split('\n')
  return `(line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`
}
