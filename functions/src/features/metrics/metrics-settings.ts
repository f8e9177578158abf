import { choice } from '../../settings/variables.ts'

/** Who may read `/metrics`: only admins, or also programs of the same machine, without a token. */
export const METRICS_SETTINGS = { TOOLRACK_METRICS: choice(['admins', 'local'], 'admins') }
