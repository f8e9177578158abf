import { aliasOf } from '../alias.ts'
import type { Dialect } from './dialect.ts'

/** The name that a vendor is given for a tool; Gemini takes every name as it is. */
export function nameIn(dialect: Dialect, name: string): string {
  return dialect === 'gemini' ? name : aliasOf(name)
}
