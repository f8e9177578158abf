import { join } from 'node:path'
import { readLocalToken } from '../../access/local-token.ts'
import { EXIT, StartError } from './start-error.ts'

/** Reads or makes the token, or says in one sentence why it can't be. */
export function openToken(folder: string): string {
  try {
    return readLocalToken(folder)
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? (error as Error).message
    throw new StartError(
      `${join(folder, 'token')} can not be used (${reason}); make it a file of this account, or remove it for a new token.`,
      EXIT.unwritableData,
    )
  }
}
