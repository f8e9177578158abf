import type { ErrorBody } from '@toolrack/contract'
import { resolve } from 'node:path'
import { harmless } from '../../log.ts'
import { runningServer } from './running-server.ts'
import { EXIT, StartError } from './start-error.ts'

/** Runs a command of the operator. If it throws, prints the message, and the exit code is 1. */
export async function runOperatorCommand(run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    if (!(error instanceof Error)) throw error
    process.stderr.write(`${harmless(error.message)}\n`)
    process.exitCode = 1
  }
}

/** Finds the embedded server that runs with the data folder `TOOLRACK_DATA`. Throws a StartError if there is none. */
export function operatedServer() {
  return runningServer(resolve(process.env['TOOLRACK_DATA'] || '.toolrack'))
}

/**
 * Asks this server, with the approver token of its folder. Resolves to the JSON of the answer, which is undefined if the answer is
 * empty. Throws the message of a refusal.
 */
export async function askServer(method: string, path: string, body?: object): Promise<unknown> {
  const { url, token } = operatedServer()
  const init = { method, headers: { Authorization: `Bearer ${token}` } }
  const answer = await fetch(`${url}/workflows${path}`, body ? { ...init, body: JSON.stringify(body) } : init)
  const said = await answer.text()
  if (answer.ok) return said === '' ? undefined : JSON.parse(said)
  if (answer.status === 401)
    throw new StartError(
      'The server does not know this token. Set TOOLRACK_TOKEN to your approver token.',
      EXIT.badConfig,
    )
  throw new Error((JSON.parse(said) as ErrorBody).error.message)
}
