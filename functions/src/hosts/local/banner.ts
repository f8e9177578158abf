import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { VERSION } from '../../version.ts'

export type Served = {
  readonly url: string
  /** The local token. Undefined if there is more than one user. */
  readonly token: string | undefined
  /** True if there is a file of users. The users have the tokens that `npm run users` has printed. */
  readonly hasUsersFile?: boolean
  /** The path of the file with the token for deciding approvals and writing rules. */
  readonly approverFile?: string | undefined
  /** Why Python tools cannot run here. Undefined if Python tools can run. */
  readonly withoutRunner?: string | undefined
  /** The paths of those watched folders that exist. */
  readonly watched?: readonly string[]
}

/** An example of a module. It is missing in a bundle. */
const EXAMPLE = fileURLToPath(new URL('../../../../docs/examples/weather.py', import.meta.url))

const USERS = 'Users have the tokens that npm run users has printed. There is no other token.'

/**
 * The text that `npm start` prints when the server is ready: the address, the local token, missing parts, and commands to copy.
 */
export function banner(
  { url, token, hasUsersFile = false, approverFile, withoutRunner, watched = [] }: Served,
  readyMs: number,
): string {
  const head = `Toolrack ${VERSION} is ready at ${url} (${Math.round(readyMs)} ms)`
  const missing = withoutRunner === undefined ? '' : `\nPython tools do not run here. ${withoutRunner}\n`
  if (token === undefined)
    return `\n${head}\n${hasUsersFile ? USERS : 'Users need Firebase ID tokens. There is no local token.'}\n${missing}\nCtrl-C stops the server.\n`
  const runsPython = withoutRunner === undefined && existsSync(EXAMPLE)
  return `
${head}
token: ${token}
${approverFile === undefined ? '' : `To approve calls, to accept grants and to write rules, use the token in ${approverFile}\n`}${missing}
${runsPython ? pythonLines(url, token) : definitionLines(url, token)}
${watched.length === 0 ? '' : folderLines(url, watched)}
Ctrl-C stops the server.
`
}

/** The text that `npm start` prints instead of the banner, if the service has crashed and is ready again. */
export function restartLine({ url }: Served, readyMs: number): string {
  return `Toolrack ${VERSION} is ready again at ${url} (${Math.round(readyMs)} ms)`
}

const CURL = 'curl -H "Authorization: Bearer $T"'

function pythonLines(url: string, token: string): string {
  return `List the tools, upload a Python file, and call one of its tools:

  T=${token}
  ${CURL} ${url}/workflows/tools/list
  ${CURL} -T ${quoted(EXAMPLE)} ${url}/workflows/tools/modules/weather
  ${CURL} -d '{"name":"weather:get_report","arguments":{"location":"Bern"}}' ${url}/workflows/tools/invoke`
}

function definitionLines(url: string, token: string): string {
  const definition =
    '{"description":"Says hello to somebody.","parameters":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}'
  return `List the tools, define one, and list it again:

  T=${token}
  ${CURL} ${url}/workflows/tools/list
  ${CURL} -X PUT -d '${definition}' ${url}/workflows/tools/defs/SAY_HELLO
  ${CURL} '${url}/workflows/tools/list?names=SAY_HELLO'`
}

function folderLines(url: string, folders: readonly string[]): string {
  return `
The tools of Python files in ${folders.join(' and ')} are loaded automatically. To see what is loaded, and what is not and why:

  ${CURL} ${url}/api/tools
`
}

/** The path for a command in a shell, in quotes if it needs them. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`
}
