import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config.ts'
import { absentRunner, type Runner } from '../../catalog/definitions/runner.ts'
import type { Log } from '../../log.ts'
import { namedRunner } from '../named-runner.ts'
import { HttpRunner } from '../../platform/runner/http-runner.ts'
import { hasDataFolder } from './open-data.ts'
import { RunnerProcess } from './runner-process.ts'
import type { RunnerCommand } from './runner-child.ts'

/**
 * The folder of the runner, relative to the source. A bundle does not use this path, because it is never started with `--python`.
 */
const RUNNER_DIR = fileURLToPath(new URL('../../../../python-runner', import.meta.url))

const NO_PYTHON =
  'No runner belongs to this server: npm start brings one, and RUNNER_URL names one that runs elsewhere.'

/**
 * The variables that say how the index of packages is reached. uv uses them, for which they may be in lower case. Tools have an
 * environment of their own, without them.
 */
const OF_THE_NETWORK = [
  ...['HTTPS_PROXY', 'HTTP_PROXY', 'ALL_PROXY', 'NO_PROXY'].flatMap((name) => [name, name.toLowerCase()]),
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
]

/** With the local token there is only one user, so this user may use every slot. */
const OF_ONE_USER = { TOOLRACK_RUNNER_USER_SLOTS: 'all' }

/** The path of a Python interpreter, or the reason why this machine has none. */
export type PythonChoice = { readonly python?: string | undefined; readonly missing?: string | undefined }

/** Reads `--python=<path>` or `--no-python=<why there is none>` in the arguments. */
export function pythonChoice(args: readonly string[]): PythonChoice {
  const valueOf = (name: string): string | undefined =>
    args.find((argument) => argument.startsWith(`${name}=`))?.slice(name.length + 1)
  return { python: valueOf('--python'), missing: valueOf('--no-python') }
}

/**
 * Returns the runner that the configuration names. If it names none, starts a runner or, without Python, returns an absent one.
 * Does not wait until the runner is ready.
 */
export function openRunner(config: Config, { python, missing = NO_PYTHON }: PythonChoice, log: Log): Runner {
  const named = namedRunner(config.runner, log)
  if (named) return named
  if (python === undefined) return absentRunner(missing)
  const settings = {
    ...(config.auth.kind === 'local' && OF_ONE_USER),
    ...(hasDataFolder(config) && { TOOLRACK_PACKAGES_DIR: join(config.dataFolder, 'packages') }),
    ...config.runner.environment,
  }
  const running = new RunnerProcess(runnerCommand(python, settings), log)
  const { started } = running
  return new HttpRunner({ endpoint: () => running.endpoint, started, close: () => running.stop() })
}

/**
 * The command and the environment with which a runner is started. From the environment of this process it gets only PATH, LANG,
 * TZ and the proxies and certificates for the index of packages. With `-I`, Python ignores the variables that are meant for it.
 */
export function runnerCommand(
  python: string,
  settings: Readonly<Record<string, string>>,
  env: NodeJS.ProcessEnv = process.env,
): RunnerCommand {
  const { PATH = '/usr/bin:/bin', LANG = 'C.UTF-8', TZ } = env
  const network = OF_THE_NETWORK.flatMap((name) => (env[name] ? [[name, env[name]]] : []))
  return {
    command: python,
    args: ['-I', RUNNER_DIR, '--parent=stdin'],
    env: {
      PATH,
      LANG,
      ...(TZ !== undefined && { TZ }),
      ...(Object.fromEntries(network) as Record<string, string>),
      ...settings,
      HOST: '127.0.0.1',
      PORT: '0',
    },
  }
}
