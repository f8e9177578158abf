import type { Setting } from '../../settings/variables.ts'

/** Something about a setting that the operator should know. The setting is used nevertheless. */
export type Notice = { readonly message: string; readonly fields: Readonly<Record<string, unknown>> }

/** The settings of one source, and their faults. */
export type Found = {
  readonly settings: readonly Setting[]
  readonly faults: readonly string[]
  readonly notices: readonly Notice[]
}

export const NOTHING: Found = { settings: [], faults: [], notices: [] }
