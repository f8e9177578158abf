import { join } from 'node:path'
import type { SecretStore } from '../../features/secrets/secret-store.ts'
import type { Config } from '../config.ts'
import { hasDataFolder } from './open-data.ts'
import { SECRET_KEYS_FILE } from './private-files.ts'
import { EXIT, StartError } from './start-error.ts'

/**
 * Throws a StartError if a key is missing that has sealed secrets of users. Without a data folder the keys are the operator's,
 * and Firestore need not be read at each start: then a call that needs such a secret says so.
 */
export async function refuseMissingKeys(
  { secretStore }: { readonly secretStore: SecretStore | undefined },
  config: Config,
): Promise<void> {
  if (!secretStore || !hasDataFolder(config) || config.store === 'firestore') return
  const missing = await secretStore.missingKeys()
  if (missing.length === 0) return
  const place = config.secretKeys ? 'TOOLRACK_SECRETS_KEY' : join(config.dataFolder, SECRET_KEYS_FILE)
  const which = missing.length === 1 ? `the key ${missing[0] ?? ''}` : `the keys ${missing.join(' and ')}`
  throw new StartError(
    `The stored secrets of tools are sealed with ${which}, and ${place} does not have it. Without it nobody can read them. Put a copy of it back. To give up the secrets that cannot be read, run npm run secrets -- forget, and start again.`,
    EXIT.damagedData,
  )
}
