import { flushCompileCache } from 'node:module'
import { isProduction, logNotices, readConfig, VARIABLES } from './hosts/config.ts'
import { banner, restartLine } from './hosts/local/banner.ts'
import { callLines } from './hosts/local/call-lines.ts'
import { moduleLines } from './hosts/local/module-lines.ts'
import { watchParent } from './hosts/local/parent-pipe.ts'
import { pythonChoice } from './hosts/local/open-runner.ts'
import { serve } from './hosts/local/serve.ts'
import { refuseUnusable } from './hosts/local/unusable-paths.ts'
import { EXIT, fullDisk, StartError } from './hosts/local/start-error.ts'
import { Terminal } from './hosts/local/terminal.ts'
import { configLines } from './hosts/print-config.ts'
import { ConfigError, configFaults } from './settings/variables.ts'
import { jsonLog, textLog } from './log.ts'

/** The embedded server, which `npm start` runs. */
async function main(): Promise<void> {
  const terminal = isProduction() ? undefined : new Terminal(process.stderr)
  const log = terminal ? textLog(terminal) : jsonLog(process.stderr)
  const report = readConfig(process.env, chosenVariables(process.argv))
  logNotices(report, log)
  if (process.argv.includes('--print-config')) {
    process.stdout.write(configLines(report, VARIABLES))
    refuseUnusable(report)
    report.config()
    return
  }
  refuseUnusable(report)
  const config = report.config()
  // What calls print is shown only with local tokens. With Firebase's tokens, users are not the operator, and only the user of a
  // call may read it.
  const shown = terminal && {
    showCall: callLines(terminal, config.auth.kind === 'local'),
    showModule: moduleLines(terminal),
  }
  const serving = await serve(config, log, pythonChoice(process.argv), shown)
  let stopping: Promise<never> | undefined
  const stop = (): void => void (stopping ??= serving.stop().then(() => process.exit(0), fail))
  process.on('SIGINT', stop).on('SIGTERM', stop).on('SIGHUP', stop)
  // The parent process gets the address before the banner is printed. So after a crash, the next start uses the same port.
  watchParent(process.argv, stop)(serving.url)
  const say = process.argv.includes('--restarted') ? restartLine : banner
  console.log(say(serving, performance.now()))
  // Node would write its cache only at an orderly end, and a terminal or a supervisor may kill this process.
  flushCompileCache()
}

/** The variables that `npm start` has set from options of its command line. It passes their names as `--chosen=PORT,HOST`. */
function chosenVariables(args: readonly string[]): readonly string[] {
  const chosen = args.find((arg) => arg.startsWith('--chosen=')) ?? ''
  return chosen.slice('--chosen='.length).split(',')
}

/**
 * Ends the program. If a person can correct the error, it is printed as one sentence. Any other error is thrown, so that Node
 * prints its stack.
 */
function fail(error: unknown): never {
  if (error instanceof StartError) exit(error.message, error.exitCode)
  if (error instanceof ConfigError)
    exit(configFaults(error), process.argv.includes('--print-config') ? 1 : EXIT.badConfig)
  const full = fullDisk(error)
  if (full) exit(full.message, full.exitCode)
  throw error
}

function exit(message: string, code: number): never {
  console.error(message)
  process.exit(code)
}

try {
  await main()
} catch (error) {
  fail(error)
}
