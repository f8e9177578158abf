import { resolve } from 'node:path'
import { SecretStore } from '../../features/secrets/secret-store.ts'
import { SqliteDocuments } from '../../stores/sqlite/sqlite-documents.ts'
import { parseConfig } from '../config.ts'
import { claimDataFolder } from './data-folder.ts'
import { openSecretKeys } from './key-files.ts'
import { openGovernanceFile } from './open-databases.ts'
import { StartError } from './start-error.ts'

/**
 * The program of `npm run secrets -- forget`. It deletes the secrets whose key is lost, so that the embedded server starts again.
 * No server may use the data folder. The exit code is 0 if everything was done, else 1.
 */
try {
  await forget(resolve(process.env['TOOLRACK_DATA'] || '.toolrack'))
} catch (error) {
  if (!(error instanceof StartError)) throw error
  console.error(error.message)
  process.exitCode = 1
}

async function forget(folder: string): Promise<void> {
  const { path, release } = claimDataFolder(folder, { warn: console.error })
  try {
    const keys = parseConfig().secretKeys ?? openSecretKeys(path)
    const database = openGovernanceFile(path)
    try {
      const documents = new SqliteDocuments(database, { now: Date.now })
      const deleted = await new SecretStore({ documents, keys, now: Date.now }).forgetUnreadable()
      console.log(`${deleted} secrets whose key is missing were deleted. The others stay.`)
    } finally {
      database.close()
    }
  } finally {
    release()
  }
}
