import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { signIn, signInWithClaims } from './auth-emulator.mjs'
import { watchBundle } from './bundle.mjs'
import { devBanner } from './dev-banner.mjs'
import { addressesOf, secretsText } from './emulator-project.mjs'
import { demoProject, emulatorEnvironment, startEmulators } from './emulators.mjs'
import { startRunner } from './emulators-runner.mjs'
import { isFree } from './ports.mjs'
import { SetupFailure } from './setup-failure.mjs'

/**
 * Runs the emulators over a bundle that follows the source, and the runner beside them, until `signal` asks for the end;
 * resolves to the exit code. `python` is the runner's, and `missing` says why there is none; who has set RUNNER_URL has a runner already.
 */
export async function devSession(root, node, { python, missing }, signal) {
  const config = join(root, 'firebase.json')
  const { emulators: configured } = JSON.parse(readFileSync(config, 'utf8'))
  const machine = emulatorEnvironment(root, node)
  await refuseBusyPorts(configured)
  const bundle = await watchBundle(join(root, 'functions'))
  let runner
  try {
    if (bundle.errors > 0) return 1 // esbuild has printed where and why
    refuseThrowing(root, node)
    // Without it the functions read the folder itself, and follow its changes.
    rmSync(join(root, 'functions/dist/file-layer.json'), { force: true })
    writeSecrets(root, node)
    process.stdout.write('Starting the Firebase emulators ...\n')
    let isReady = false
    const onOutput = (text) => (isReady || !text.startsWith('info')) && process.stdout.write(text)
    if (python && !process.env.RUNNER_URL)
      runner = await startRunner({ root, node, python, signal, onOutput })
    const emulators = await startEmulators({
      root,
      machine: { ...machine, env: { ...machine.env, ...runner?.env } },
      config,
      folder: join(root, '.toolrack/emulators'),
      signal,
      onOutput: (text) => isReady && process.stdout.write(text),
    })
    const { auth, hosting } = addressesOf({ emulators: configured })
    const user = await signIn(auth, 'user@example.com')
    const admin = await signInWithClaims(auth, demoProject, 'admin@example.com', { toolrackAdmin: true })
    const health = await healthOf(hosting, user)
    process.stdout.write(devBanner({ hosting, user, admin, health, missing }))
    isReady = true
    const who = await firstToEnd({ 'The emulators have': emulators, 'The Python runner has': runner })
    await emulators.stop()
    if (signal.aborted) return 0
    throw new SetupFailure(`${who} ended without being told to.`)
  } finally {
    await runner?.stop()
    await bundle.stop()
  }
}

async function firstToEnd(parts) {
  const running = Object.entries(parts).filter(([, part]) => part)
  return Promise.race(running.map(([name, { ended }]) => ended.then(() => name)))
}

/** What the functions know of the runner; undefined where they don't answer as they should. */
async function healthOf(hosting, { idToken }) {
  const answer = await fetch(`http://${hosting}/health`, { headers: { Authorization: `Bearer ${idToken}` } })
  return answer.ok ? (await answer.json()).runner : undefined
}

async function refuseBusyPorts(configured) {
  const ports = Object.entries(configured).flatMap(([name, { port, websocketPort }]) => [
    ...(port ? [[`${name}.port`, port]] : []),
    ...(websocketPort ? [[`${name}.websocketPort`, websocketPort]] : []),
  ])
  for (const [name, port] of ports) {
    if (!(await isFree(port)))
      throw new SetupFailure(
        `Port ${port} is in use by another program; stop it, or change emulators.${name} in firebase.json.`,
      )
  }
}

/** firebase-tools would take ten seconds to say that the functions can't be loaded, and not why. */
function refuseThrowing(root, node) {
  const entry = pathToFileURL(join(root, 'functions/dist/index.js')).href
  const flags = [
    '--enable-source-maps',
    '--input-type=module',
    '--eval',
    `await import(${JSON.stringify(entry)})`,
  ]
  const { status, stderr } = spawnSync(node, flags, { encoding: 'utf8' })
  if (status !== 0) throw new SetupFailure(`The functions throw as they are loaded:\n${stderr.trimEnd()}`)
}

/** The key that signs job tokens, made once: without it firebase-tools would look for the secret in the cloud. */
function writeSecrets(root, node) {
  const path = join(root, 'functions/.secret.local')
  if (existsSync(path)) return
  const keys = pathToFileURL(join(root, 'functions/src/access/job-keys.ts')).href
  const script = `import { newJobKeys } from ${JSON.stringify(keys)}; process.stdout.write(newJobKeys())`
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script]
  const text = execFileSync(node, flags, { encoding: 'utf8' })
  writeFileSync(path, secretsText({ TOOLRACK_JOB_KEYS: text }), { mode: 0o600 })
}
