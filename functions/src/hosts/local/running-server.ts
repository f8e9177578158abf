import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseLocalToken, TOKEN_FILES } from '../../access/local-token.ts'
import { writeWholeFile } from '../../write-whole-file.ts'
import { claimDataFolder } from './data-folder.ts'
import { ADDRESS_FILE } from './private-files.ts'
import { EXIT, StartError } from './start-error.ts'

/** Writes the address of the server into its data folder, so that commands of the operator find it. */
export function noteAddress(folder: string, url: string): void {
  writeWholeFile(join(folder, ADDRESS_FILE), `${url}\n`)
}

/** A server that has claimed the folder calls this at its start and at its end. */
export function forgetAddress(folder: string): void {
  rmSync(join(folder, ADDRESS_FILE), { force: true })
}

/** The address of the server that uses a data folder, and the token with which its operator governs it. */
export type RunningServer = { readonly url: string; readonly token: string }

/**
 * Finds the server that uses the data folder. `env` may have another token, in TOOLRACK_TOKEN. Throws a StartError if no server
 * uses the folder. The token is sent nowhere then: another program could listen at an earlier address.
 */
export function runningServer(folder: string, env: NodeJS.ProcessEnv = process.env): RunningServer {
  if (!isClaimed(folder))
    throw new StartError(
      `No server runs with the data folder ${folder}. Start it with npm start, or set TOOLRACK_DATA to the folder of the server that runs.`,
      EXIT.addressTaken,
    )
  const url = read(join(folder, ADDRESS_FILE))
  if (!url)
    throw new StartError(
      `The server of the data folder ${folder} is not ready yet. Try again.`,
      EXIT.addressTaken,
    )
  const token = env['TOOLRACK_TOKEN'] || parseLocalToken(read(join(folder, TOKEN_FILES.approver)) ?? '')
  if (!token)
    throw new StartError(
      `${join(folder, TOKEN_FILES.approver)} has no token. Set TOOLRACK_TOKEN to your approver token.`,
      EXIT.damagedData,
    )
  return { url, token }
}

/** True if a server uses the folder. It has a lock on a file in it. */
function isClaimed(folder: string): boolean {
  if (read(join(folder, 'in-use')) === undefined) return false
  try {
    claimDataFolder(folder, { warn: () => undefined }).release()
    return false
  } catch (error) {
    if (error instanceof StartError && error.exitCode === EXIT.dataInUse) return true
    throw error
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}
