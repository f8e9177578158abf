import type { Log, LogFields } from '../../log.ts'

const LEVELS: ReadonlyMap<unknown, keyof Log> = new Map([
  ['DEBUG', 'info'],
  ['INFO', 'info'],
  ['NOTICE', 'info'],
  ['WARNING', 'warn'],
])

/**
 * Hands a line of the runner's log on to ours; gives back what it says where that is a complaint. A line that is no JSON
 * object comes from Python itself, which has something to complain of.
 */
export function forwardLine(log: Log, line: string): string {
  const { severity, message, ...fields } = parse(line) ?? { severity: 'WARNING', message: line.trimEnd() }
  const said = typeof message === 'string' ? message : line
  const level = LEVELS.get(severity) ?? 'error'
  if (said !== '') log[level](`runner: ${said}`, hasAny(fields) ? fields : undefined)
  return level === 'info' ? '' : said
}

function parse(line: string): LogFields | undefined {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as LogFields)
      : undefined
  } catch {
    return undefined
  }
}

function hasAny(fields: LogFields): boolean {
  return Object.keys(fields).length > 0
}
