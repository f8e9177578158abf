/** Where JSON.parse stopped, as "(line 3, column 7)", so that an author finds it; without the text around it. */
export function jsonPosition(text: string, error: unknown): string {
  const position = errorPosition(text, error) ?? firstFault(text)
  if (position >= text.length) return '(it ends too early)'
  const before = text.slice(0, position).split('\n')
  return `(line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`
}

/** V8 tells the position of every fault but one: `Unexpected token 'N', "{"a":NaN}" is not valid JSON`. */
function errorPosition(text: string, error: unknown): number | undefined {
  const { message } = error as Error
  const told = / at position (\d+)/.exec(message)?.[1]
  if (told !== undefined) return Number(told)
  return message === 'Unexpected end of JSON input' ? text.length : undefined
}

/** The end of the longest beginning that could still become JSON, by halving. */
function firstFault(text: string): number {
  let low = 0
  let high = text.length
  while (low < high) {
    const middle = (low + high + 1) >>> 1
    if (couldBecomeJson(text.slice(0, middle))) low = middle
    else high = middle - 1
  }
  return low
}

function couldBecomeJson(beginning: string): boolean {
  try {
    JSON.parse(beginning)
    return true
  } catch (error) {
    return (errorPosition(beginning, error) ?? -1) >= beginning.length
  }
}
