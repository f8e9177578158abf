import { spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { evaluate, root } from './checkout.mjs'
import { exitCodeOf, withFirstOnPath } from './child.mjs'
import { firestoreJar } from './firestore-jar.mjs'
import { findJava } from './java.mjs'
import { killKept, marker } from './kept-processes.mjs'
import { freePorts } from './ports.mjs'
import { servingEnvironment } from './serving.mjs'
import { SetupError } from './setup-error.mjs'

const keeper = fileURLToPath(new URL('keeper.mjs', import.meta.url))

/** A project id with this prefix exists in emulators only, so firebase-tools needs no account for it. */
export const demoProject = 'demo-toolrack'

/** The sentence for a machine that neither has the Firestore emulator nor can download it. */
export const noJar =
  'The Firestore emulator is not on this machine and firebase-tools could not download it: install the Google Cloud SDK with its component cloud-firestore-emulator, or go online once.'

/**
 * The environment for the emulators, and whether the Firestore emulator is on this machine. Throws a SetupError without a JDK.
 * @param {string} node
 * @returns {{ isHere: boolean, env: NodeJS.ProcessEnv }}
 */
export function emulatorEnvironment(node) {
  const java = findJava()
  const jar = firestoreJar(root)
  return {
    isHere: jar.isHere,
    env: {
      ...withFirstOnPath(withFirstOnPath(process.env, node), join(java, 'java')),
      ...jar.env,
      ...servingEnvironment(root),
      JAVA_HOME: dirname(java),
      METADATA_SERVER_DETECTION: 'none',
      NO_UPDATE_NOTIFIER: '1',
    },
  }
}

/**
 * Starts the emulators of `config`, the path of a firebase.json, and resolves when they are ready. The emulators have their own
 * session. They end after `stop()`, after an abort of `signal`, and when this process ends, even by SIGKILL. Their logs are in
 * `folder`.
 * @param {{
 *   machine: ReturnType<typeof emulatorEnvironment>,
 *   config: string,
 *   folder: string,
 *   signal?: AbortSignal,
 *   onOutput?: (text: string) => void,
 * }} options
 */
export async function startEmulators({ machine, config, folder, signal, onOutput = () => {} }) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const firebase = join(root, 'node_modules/firebase-tools/lib/bin/firebase.js')
  const args = ['emulators:start', '--project', demoProject, '--config', config, '--non-interactive']
  const mark = randomUUID()
  const child = spawn('node', [keeper, 'node', '--disable-warning=DEP0040', firebase, ...args], {
    cwd: folder,
    env: { ...machine.env, [marker]: mark },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: true,
  })
  let output = ''
  let isReady = false
  const ready = new Promise((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text) => {
        onOutput(text)
        if (!isReady) output += text
        isReady ||= output.includes('All emulators ready!')
        if (isReady) resolve()
      })
  })
  const { stop, ended } = lent(child, signal, () => killKept(mark))

  await Promise.race([ready, ended])
  // If the functions throw when they are loaded, firebase-tools prints the error and goes on without the functions.
  const [, fault] =
    /Failed to load function definition from source: (?:FirebaseError: )?([^\n]*)/.exec(output) ?? []
  if (isReady && fault === undefined) return { stop, ended }
  await stop()
  if (signal?.aborted) throw new SetupError('Stopped.', exitCodeOf('SIGINT'))
  if (isReady) throw new SetupError(`The functions could not be loaded: ${fault}`)
  if (!machine.isHere) throw new SetupError(noJar)
  throw new SetupError(`The emulators did not start; firebase-tools said:\n${lastLines(output)}`)
}

/**
 * Starts the Python runner for functions on the emulators, and starts it again whenever it ends. The `env` of the result
 * is for the functions and contains the runner's endpoint. The runner is stopped in the same ways as the emulators.
 */
export async function startRunner({ node, python, signal, onOutput = () => {} }) {
  const [port] = await freePorts(1)
  const env = {
    RUNNER_URL: `http://127.0.0.1:${port}`,
    RUNNER_SECRET: randomBytes(32).toString('base64url'),
  }
  const program = join(root, 'functions/src/hosts/local/runner-cli.ts')
  const args = ['--disable-warning=ExperimentalWarning', program, `--python=${python}`, '--parent-pipe=3']
  const child = spawn(node, args, {
    cwd: root,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe', 'pipe'],
    // A Ctrl-C in the terminal reaches the runner only through this process.
    detached: true,
  })
  child.stderr.setEncoding('utf8').on('data', onOutput)
  return { env, pid: child.pid, ...lent(child, signal) }
}

/** Makes `stop()` and `ended` for a child. The child also ends when its pipe on descriptor 3 closes: at the end of this process. */
function lent(child, signal, onExit = () => {}) {
  child.stdio[3].on('error', () => {})
  const closed = once(child, 'close')
  const ended = once(child, 'exit').then(() => {
    child.stdio[3].destroy()
    onExit()
    return closed
  })

  async function stop() {
    child.kill('SIGTERM')
    await ended
  }
  signal?.addEventListener('abort', stop)
  if (signal?.aborted) child.kill('SIGTERM')
  return { stop, ended }
}

function lastLines(output) {
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const errors = lines.filter((line) => /^Error:|⚠|ERROR|^\s+at /.test(line))
  return (errors.length > 0 ? errors : lines)
    .slice(-12)
    .map((line) => `  ${line}`)
    .join('\n')
}

/** The endpoints of the emulators of a firebase.json, as host:port. */
export function addressesOf({ emulators }) {
  const listening = Object.entries(emulators).filter(([, emulator]) => emulator.port !== undefined)
  return Object.fromEntries(
    listening.map(([name, { host = '127.0.0.1', port }]) => [name, `${host}:${port}`]),
  )
}

/** The text of `.secret.local`, from which firebase-tools reads secrets: one line for each. Single quotes quote every character. */
export function secretsText(secrets) {
  return Object.entries(secrets)
    .map(([name, value]) => `${name}='${value.replaceAll(/\s*\n\s*/g, '')}'\n`)
    .join('')
}

/** Makes the functions' secrets that are missing. If one had no value, firebase-tools would search for it in the cloud. */
export function writeLocalSecrets(node) {
  const path = join(root, 'functions/.secret.local')
  const known = existsSync(path) ? readFileSync(path, 'utf8') : ''
  const made = (file, make) =>
    evaluate(node, `functions/src/${file}`, `process.stdout.write(module.${make}())`)
  const missing = {
    ...(!known.includes('TOOLRACK_JOB_KEYS=') && {
      TOOLRACK_JOB_KEYS: made('access/job-keys.ts', 'newJobKeys'),
    }),
    ...(!known.includes('TOOLRACK_SEALING_KEY=') && {
      TOOLRACK_SEALING_KEY: made('calls/sealing.ts', 'newSealingKey'),
    }),
  }
  writeFileSync(path, known + secretsText(missing), { mode: 0o600 })
}
