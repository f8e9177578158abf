import type { ConfigReport } from './config.ts'
import { harmless } from '../log.ts'
import { isSecret } from './settings/config-file.ts'

/** A line for each variable, with its name, its present value, and the source of the value. Secrets are masked. */
export function configLines({ inForce }: ConfigReport, variables: readonly string[]): string {
  const rows = variables.map((name) => {
    const found = inForce.get(name)
    if (!found) return [name, '(cannot be used)', 'see the faults']
    return [name, shown(name, found.value, found.text), found.from]
  })
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => (row[column] ?? '').length)))
  const lines = rows.map((row) =>
    row.map((cell, column) => (column < 2 ? cell.padEnd(widths[column] ?? 0) : cell)).join('  '),
  )
  return lines.map((line) => `${harmless(line)}\n`).join('')
}

function shown(name: string, value: unknown, text: string | undefined): string {
  if (text !== undefined && isSecret(name)) return '(secret)'
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return '(not set)'
  return text ?? (typeof value === 'string' ? value : JSON.stringify(value))
}
