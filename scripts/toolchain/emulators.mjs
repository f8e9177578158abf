import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exitCodeOf, withFirstOnPath } from './child.mjs'
import { firestoreJar } from './firestore-jar.mjs'
import { findJava } from './java.mjs'
import { killKept, marker } from './kept-processes.mjs'
import { SetupError } from './setup-error.mjs'

const keeper = fileURLToPath(new URL('keeper.mjs', import.meta.url))

/** A project id with this prefix exists in emulators only, so firebase-tools needs no account for it. */
export const demoProject = 'demo-toolrack'

/** The sentence for a machine that neither has the Firestore emulator nor can download it. */
export const noJar =
  'The Firestore emulator is not on this machine and firebase-tools could not download it: install the Google Cloud SDK with its component cloud-firestore-emulator, or go online once.'

/**
 * The environment to start the emulators in, and whether the Firestore emulator is already on the machine:
 * `{ env, isHere }`. Throws a SetupError if there is no JDK for it.
 */
export function emulatorEnvironment(root, node, env = process.env) {
  const java = findJava({ env })
  const jar = firestoreJar(root, { env })
  const path = withFirstOnPath(env, node)
  const key = Object.keys(path).find((name) => name.toUpperCase() === 'PATH')
  return {
    isHere: jar.isHere,
    env: {
      ...path,
      ...jar.env,
      JAVA_HOME: dirname(java),
      [key]: [java, path[key]].join(delimiter),
      METADATA_SERVER_DETECTION: 'none',
      NO_UPDATE_NOTIFIER: '1',
    },
  }
}

/**
 * Starts the emulators of a firebase.json, `config`, and resolves when they are ready. They have a session of their own,
 * and end with `stop()`, with `signal`, and when this process ends, even by SIGKILL. Their logs are in `folder`.
 */
export async function startEmulators({ root, machine, config, folder, signal, onOutput = () => {} }) {
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
  const closed = once(child, 'close')
  const ended = once(child, 'exit').then(() => {
    child.stdio[3].destroy()
    killKept(mark)
    return closed
  })
  let output = ''
  let isReady = false
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      onOutput(text)
      if (isReady) return
      output += text
      child.emit('said')
    })
  }

  async function stop() {
    child.kill('SIGTERM')
    await ended
  }
  signal?.addEventListener('abort', stop)
  if (signal?.aborted) child.kill('SIGTERM')

  for (;;) {
    isReady = output.includes('All emulators ready!')
    const fault = isReady && loadFault(output)
    if (fault) {
      await stop()
      throw new SetupError(`The functions could not be loaded: ${fault}`)
    }
    if (isReady) return { stop, ended }
    const isEnd = await Promise.race([once(child, 'said').then(() => false), ended.then(() => true)])
    if (!isEnd) continue
    if (signal?.aborted) throw new SetupError('Stopped.', exitCodeOf('SIGINT'))
    if (!machine.isHere) throw new SetupError(noJar)
    throw new SetupError(`The emulators did not start; firebase-tools said:\n${lastLines(output)}`)
  }
}

/** firebase-tools goes on without the functions if their code throws when it is loaded. */
function loadFault(output) {
  const [, fault] =
    /Failed to load function definition from source: (?:FirebaseError: )?([^\n]*)/.exec(output) ?? []
  return fault
}

function lastLines(output) {
  const lines = output.split('\n').filter((line) => line.trim() !== '')
  const errors = lines.filter((line) => /^Error:|⚠|ERROR|^\s+at /.test(line))
  return (errors.length > 0 ? errors : lines)
    .slice(-12)
    .map((line) => `  ${line}`)
    .join('\n')
}
