import { errorBody } from '@toolrack/contract'
import { harmless } from '../../../log.ts'
import { ConfigError, configFaults } from '../../../settings/variables.ts'
import { jsonOf } from '../../../json/json-text.ts'
import { pythonChoice } from '../open-runner.ts'
import { argumentsOf, filesOf, objectOf } from './argument-words.ts'
import { AuthorError } from './author-error.ts'
import { openSession, type AuthorSession } from './author-session.ts'
import { callTool } from './call-tool.ts'
import { checkModule, type Checked } from './check-module.ts'
import { givenSecrets, secretsFor } from './given-secrets.ts'
import { grantsOfModule } from './grant-lines.ts'
import { PrintedLines } from './printed-lines.ts'
import { readModule } from './read-module.ts'
import { isAllGood, reportLines } from './report-lines.ts'
import { saveMade } from './save-made.ts'
import { terminalText } from './terminal-text.ts'
import { toolNamed } from './tool-named.ts'

/** The request of `scripts/tool.mjs`. The script has checked its shape. */
type Request = {
  readonly action: 'check' | 'call'
  readonly file: string
  /** The name of the tool, and arguments such as `days=3`. */
  readonly words: readonly string[]
  readonly arguments?: string
  readonly context?: string
  readonly timeout?: string
  /** The folder for the images and files of the result. */
  readonly save?: string
  /** The names of secrets. No argument has their values. */
  readonly secrets: readonly string[]
  readonly json?: boolean
}

/** The output and the exit code of a command. */
type Said = { readonly code: number; readonly stdout?: string; readonly stderr?: string }

/** What a command does with the runner. The runner is started only after all other work of the command. */
type Work = (session: AuthorSession) => Promise<Said>

const ACTIONS = { check, call }

const INTERRUPTED = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/**
 * The program of `npm run tool -- check|call <file>`. The exit code is 0 if everything succeeded, 1 if something failed, and 2
 * for a wrong command.
 */
async function main(): Promise<number> {
  const request = requestIn(process.argv)
  const stopped = interrupted()
  const work = await ACTIONS[request.action](request)
  const session = openSession(pythonChoice(process.argv))
  try {
    const { code, stdout, stderr } = await Promise.race([work(session), stopped])
    if (stdout !== undefined) console.log(stdout)
    if (stderr !== undefined) console.error(stderr)
    return code
  } finally {
    await session.close()
  }
}

/** Resolves when a signal asks the command to end. */
function interrupted(): Promise<Said> {
  return new Promise((resolve) => {
    for (const [signal, code] of Object.entries(INTERRUPTED)) process.on(signal, () => resolve({ code }))
  })
}

function requestIn(args: readonly string[]): Request {
  const prefix = '--request='
  const text = args.find((argument) => argument.startsWith(prefix))?.slice(prefix.length) ?? ''
  return JSON.parse(text) as Request
}

async function check({ file, json }: Request): Promise<Work> {
  const source = await readModule(file)
  return async (session) => {
    const checked = await checkModule(session, source, showProgress)
    const stdout = json ? checkedJson(checked) : reportLines(checked).join('\n')
    return { code: isAllGood(checked) ? 0 : 1, stdout }
  }
}

async function call(request: Request): Promise<Work> {
  const { file, words, timeout, json } = request
  const source = await readModule(file)
  const context = request.context === undefined ? {} : objectOf('--context', request.context)
  const [first] = words
  const named = first === undefined || first.includes('=') ? undefined : first
  const givenValues = await givenSecrets(request.secrets)
  return async (session) => {
    const checked = await checkModule(session, source, showProgress)
    if (!('module' in checked))
      return json
        ? { code: 1, stdout: checkedJson(checked) }
        : { code: 1, stderr: reportLines(checked).join('\n') }
    const tool = toolNamed(checked.module, named)
    const { name, parameters } = tool.definition.function
    const secrets = secretsFor(tool, givenValues)
    const own = named === undefined ? words : words.slice(1)
    const given = argumentsOf(own, request.arguments, parameters)
    const printed = new PrintedLines(process.stderr)
    const {
      result,
      log,
      made = [],
    } = await callTool(session, checked.module, {
      name,
      arguments: given,
      attached: filesOf(own, parameters),
      context,
      secrets,
      deadlineMs: timeout === undefined ? undefined : Math.max(1, Math.round(Number(timeout) * 1_000)),
      listen: (event) => printed.take(event),
    })
    printed.end(log)
    for (const line of saveMade(made, request.save)) console.error(harmless(line))
    const { resultType, textResultForLlm: text } = result
    const code = resultType === 'success' ? 0 : 1
    if (json) return { code, stdout: jsonOf(result) }
    if (resultType === 'failure') return { code, stderr: terminalText(`${name}: ${result.code}\n${text}`) }
    // If a program reads the output, the text is unchanged. In a person's terminal, characters that control the terminal are
    // removed.
    return { code, stdout: process.stdout.isTTY ? terminalText(text) : text }
  }
}

let lastProgress = ''

/** Shows what is done while packages are installed. It is no part of the result, so it goes to stderr. */
function showProgress(text: string): void {
  if (text !== lastProgress) console.error(harmless(text))
  lastProgress = text
}

/** The result as JSON: what the answer to an upload says about the module, or the body of the error. */
function checkedJson(checked: Checked): string {
  if ('error' in checked) return JSON.stringify(errorBody(checked.error))
  const { name, sha256, tools, report } = checked.module
  return JSON.stringify({
    name,
    sha256,
    tools: tools.map(({ definition }) => definition.function.name),
    ...grantsOfModule(checked.module),
    report,
  })
}

try {
  // Exits at once, because nobody needs the rest of the output of an interrupted command.
  process.exit(await main())
} catch (error) {
  process.exit(told(error))
}

/** Prints an error that a person can correct, in one sentence. Returns the exit code. Throws any other error. */
function told(error: unknown): number {
  const isConfig = error instanceof ConfigError
  if (!isConfig && !(error instanceof AuthorError)) throw error
  console.error(isConfig ? configFaults(error) : harmless(error.message))
  return isConfig ? 1 : error.exitCode
}
