import { parsedJson, type ErrorBody } from '@toolrack/contract'
import { NOT_AN_APPROVER } from '../../access/action.ts'
import { runningServer } from './running-server.ts'
import { EXIT, StartError } from './start-error.ts'

const UNKNOWN_TOKEN = 'The server does not know this token. Set TOOLRACK_TOKEN to your approver token.'

/** The token of the variable may be the one of programs, which people put there for the API. */
const WRONG_VARIABLE =
  'The token of the variable TOOLRACK_TOKEN was used, and it is not an approver token. Set the variable to your approver token, or unset it: then the file approver-token of the data folder is used. Nothing was changed.'

/**
 * Sends a request of the operator to the server that uses the data folder. Resolves to the JSON of the answer, or undefined if it
 * is empty. Rejects with a sentence for the terminal.
 */
export async function askRunningServer(
  folder: string,
  method: string,
  path: string,
  body?: object,
): Promise<unknown> {
  const { url, token } = runningServer(folder)
  const init = { method, headers: { Authorization: `Bearer ${token}` } }
  const answer = await fetch(`${url}/workflows${path}`, body ? { ...init, body: JSON.stringify(body) } : init)
  const said = await answer.text()
  if (answer.ok) return said === '' ? undefined : parsedJson(said)
  if (answer.status === 401) throw new StartError(UNKNOWN_TOKEN, EXIT.badConfig)
  const { message } = (JSON.parse(said) as ErrorBody).error
  throw new Error(message === NOT_AN_APPROVER && process.env['TOOLRACK_TOKEN'] ? WRONG_VARIABLE : message)
}
