import type { Setting } from '../../settings/variables.ts'

/** Something that the operator should know about the settings, although they can be used. */
export type Notice = { readonly message: string; readonly fields: Readonly<Record<string, unknown>> }

/** What one source of settings has. */
export type Found = {
  readonly settings: readonly Setting[]
  readonly faults: readonly string[]
  readonly notices: readonly Notice[]
}

export const NOTHING: Found = { settings: [], faults: [], notices: [] }
