import { aliasOf } from '../alias.ts'
import { hasAliases } from './dialect.ts'
import type { Dialect } from './dialect.ts'

/** The name that a vendor is given for a tool. */
export function nameIn(dialect: Dialect, name: string): string {
  return hasAliases(dialect) ? aliasOf(name) : name
}
