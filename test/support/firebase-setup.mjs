import { appendFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newJobKeys } from '../../functions/src/access/job-keys.ts'
import { buildFunctions } from '../../scripts/toolchain/build-functions.mjs'
import { root } from '../../scripts/toolchain/checkout.mjs'
import {
  demoProject,
  emulatorEnvironment,
  noJar,
  startEmulators,
  startRunner,
} from '../../scripts/toolchain/emulators.mjs'
import { makeEmulatorProject } from './emulator-project.mjs'

/** The Python that `npm test` installs. Without it the functions have no runner, and suites that need one report this. */
const python = join(root, 'python-runner/.venv/bin/python')

/**
 * Starts the emulators once for all suites that need them. Jest calls this only if it runs one of these suites. If
 * FIRESTORE_EMULATOR_HOST already names an emulator, that emulator is used, and the suites of the functions do not run.
 */
export default async function setUp() {
  if (process.env.FIRESTORE_EMULATOR_HOST) return
  const folder = mkdtempSync(join(tmpdir(), 'toolrack-emulators-'))
  globalThis.endEmulators = async () => rmSync(folder, { recursive: true, force: true })
  try {
    const machine = emulatorEnvironment(process.execPath)
    await buildFunctions(process.execPath, { logLevel: 'error' })
    const { config, addresses } = await makeEmulatorProject(folder, { TOOLRACK_JOB_KEYS: newJobKeys() })
    const runner = existsSync(python) ? await startRunner({ node: process.execPath, python }) : undefined
    const env = { ...machine.env, ...runner?.env }
    globalThis.endEmulators = async () => {
      await runner?.stop()
      rmSync(folder, { recursive: true, force: true })
    }
    const emulators = await startEmulators({ machine: { ...machine, env }, config, folder })
    globalThis.endEmulators = async () => {
      await emulators.stop()
      await runner?.stop()
      rmSync(folder, { recursive: true, force: true })
    }
    process.env.FIRESTORE_EMULATOR_HOST = addresses.firestore
    // Clients of the emulator need no credentials and should not search for them.
    process.env.METADATA_SERVER_DETECTION = 'none'
    await warmUp()
    process.env.TOOLRACK_TEST_EMULATORS = JSON.stringify({
      ...addresses,
      project: demoProject,
      runner: runner?.pid,
    })
  } catch (err) {
    if (!isMissing(err)) throw err
    announce(err.message)
  }
}

/** The first transaction of an emulator takes seconds on a busy machine, more than the store's deadlines allow. */
async function warmUp() {
  const { Firestore } = await import('@google-cloud/firestore')
  const firestore = new Firestore({ projectId: 'demo-warm-up' })
  await firestore.doc('a/b').set({ c: 1 })
  await firestore.runTransaction((transaction) => transaction.get(firestore.doc('a/b')))
  await firestore.terminate()
}

/** True if the machine lacks something. Every other error is a failure of the run. */
function isMissing({ message }) {
  return message === noJar || message.startsWith('The Firestore emulator needs Java')
}

function announce(sentence) {
  const { TOOLRACK_TEST_MISSING: path } = process.env
  if (path) appendFileSync(path, `${sentence}\n`)
  else process.stderr.write(`${sentence}\n`)
}
