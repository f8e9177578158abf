import { hash } from 'node:crypto'
import type { ModuleSummary } from './module-store.ts'

/** The hexadecimal digits in a tag after the sha256. They are enough, because they only tell states of one content apart. */
const DIGITS = 16

/**
 * The entity tag of a module. It is the sha256 of its content. If the module has packages or a consent, digits follow that change
 * with these, because both can change while the content stays.
 */
export function moduleTag({
  sha256,
  environment,
  consent,
}: Pick<ModuleSummary, 'sha256' | 'environment' | 'consent'>): string {
  if (environment === undefined && !consent) return sha256
  const state = JSON.stringify([environment, consent?.digest, consent?.at])
  return `${sha256}.${hash('sha256', state).slice(0, DIGITS)}`
}
