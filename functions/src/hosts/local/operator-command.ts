import type { ErrorBody } from '@toolrack/contract'
import { resolve } from 'node:path'
import { NOT_AN_APPROVER } from '../../access/action.ts'
import { harmless } from '../../log.ts'
import { runningServer } from './running-server.ts'
import { EXIT, StartError } from './start-error.ts'

/** The token of the variable may be the one of programs, which people put there for the API. */
const WRONG_VARIABLE =
  'The token of the variable TOOLRACK_TOKEN was used, and it is not an approver token. Set the variable to your approver token, or unset it: then the file approver-token of the data folder is used. Nothing was changed.'

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
  const { message } = (JSON.parse(said) as ErrorBody).error
  throw new Error(message === NOT_AN_APPROVER && process.env['TOOLRACK_TOKEN'] ? WRONG_VARIABLE : message)
}
