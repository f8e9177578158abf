import { parseConfig } from '../config.ts'
import { textLog } from '../../log.ts'
import { watchParent } from './parent-pipe.ts'
import { pythonChoice, runnerCommand } from './open-runner.ts'
import { RunnerProcess } from './runner-process.ts'
import { EXIT } from './start-error.ts'

/**
 * Runs the runner beside the emulators: `runner-cli.ts --python=<path> --parent-pipe=3`. If the runner is started again, it gets
 * the same port and secret, from RUNNER_URL and RUNNER_SECRET, because the functions read these variables only once.
 */
const { address, environment } = parseConfig().runner
const { python } = pythonChoice(process.argv)
if (!address || python === undefined) throw new Error('RUNNER_URL or --python is missing')
const { env, ...command } = runnerCommand(python, environment)
const { port } = new URL(address.url)
const running = new RunnerProcess(
  { ...command, env: { ...env, PORT: port }, secret: address.secret },
  textLog(process.stderr),
)

// The exit code if the runner ends for good by itself. It has then logged the reason, and a new start would end in the same way.
let exitCode: number = EXIT.badConfig

function stop(): void {
  exitCode = 0
  void running.stop()
}

process.on('SIGINT', stop).on('SIGTERM', stop).on('SIGHUP', stop)
watchParent(process.argv, stop)
await running.over
process.exit(exitCode)
