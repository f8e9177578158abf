import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { signIn, signInWithClaims } from './auth-emulator.mjs'
import { watchBundle } from './build-functions.mjs'
import { addressesOf, secretsText } from './emulator-project.mjs'
import { demoProject, emulatorEnvironment, startEmulators, startRunner } from './emulators.mjs'
import { isFree } from './ports.mjs'
import { SetupError } from './setup-error.mjs'

const definition =
  '{"description":"Says hello to somebody.","parameters":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}'

/**
 * Runs the emulators and the Python runner until `signal` aborts, and bundles the functions again after each change of
 * their source. Resolves to the exit code. `python` is the runner's interpreter, `missing` says why there is none. With
 * RUNNER_URL set no runner is started.
 */
export async function devSession(root, node, { python, missing }, signal) {
  const config = join(root, 'firebase.json')
  const { emulators: configured } = JSON.parse(readFileSync(config, 'utf8'))
  const machine = emulatorEnvironment(root, node)
  await checkPorts(configured)
  const bundle = await watchBundle(join(root, 'functions'))
  let runner
  try {
    if (bundle.errors > 0) return 1 // esbuild has printed where and why
    checkLoads(root, node)
    // Without this file the functions read the definition folder itself, and see its changes.
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
    throw new SetupError(`${who} ended unexpectedly.`)
  } finally {
    await runner?.stop()
    await bundle.stop()
  }
}

async function firstToEnd(parts) {
  const running = Object.entries(parts).filter(([, part]) => part)
  return Promise.race(running.map(([name, { ended }]) => ended.then(() => name)))
}

/** What the functions tell of the runner; undefined if they answer with an error. */
async function healthOf(hosting, { idToken }) {
  const answer = await fetch(`http://${hosting}/health`, { headers: { Authorization: `Bearer ${idToken}` } })
  return answer.ok ? (await answer.json()).runner : undefined
}

/** Throws if another program listens on a port of the emulators. */
async function checkPorts(configured) {
  const ports = Object.entries(configured).flatMap(([name, { port, websocketPort }]) => [
    ...(port ? [[`${name}.port`, port]] : []),
    ...(websocketPort ? [[`${name}.websocketPort`, websocketPort]] : []),
  ])
  for (const [name, port] of ports) {
    if (!(await isFree(port)))
      throw new SetupError(
        `Port ${port} is in use by another program; stop it, or change emulators.${name} in firebase.json.`,
      )
  }
}

/** firebase-tools would take ten seconds to find that the functions cannot be loaded, and would not say why. */
function checkLoads(root, node) {
  const entry = pathToFileURL(join(root, 'functions/dist/index.js')).href
  const flags = [
    '--enable-source-maps',
    '--input-type=module',
    '--eval',
    `await import(${JSON.stringify(entry)})`,
  ]
  const { status, stderr } = spawnSync(node, flags, { encoding: 'utf8' })
  if (status !== 0) throw new SetupError(`The functions throw as they are loaded:\n${stderr.trimEnd()}`)
}

/** Makes the key that signs job tokens, once. Without one firebase-tools would look for the secret in the cloud. */
function writeSecrets(root, node) {
  const path = join(root, 'functions/.secret.local')
  if (existsSync(path)) return
  const keys = pathToFileURL(join(root, 'functions/src/access/job-keys.ts')).href
  const script = `import { newJobKeys } from ${JSON.stringify(keys)}; process.stdout.write(newJobKeys())`
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script]
  const text = execFileSync(node, flags, { encoding: 'utf8' })
  writeFileSync(path, secretsText({ TOOLRACK_JOB_KEYS: text }), { mode: 0o600 })
}

function as(token) {
  return `curl -H "Authorization: Bearer $${token}"`
}

/** What `npm run dev` prints when everything is ready: the endpoint, two users, and lines to copy. */
function devBanner({ hosting, user, admin, health, missing }) {
  const url = `http://${hosting}`
  return `
Toolrack on the Firebase emulators is ready at ${url}

  T='${user.idToken}'
  A='${admin.idToken}'

$T is user@example.com, $A admin@example.com, who may write the global layer; both tokens last for an hour.
${pythonTools(health, missing)}
List the tools, define one, and list it again:

  ${as('T')} ${url}/workflows/tools/list
  ${as('T')} -X PUT -d '${definition}' ${url}/workflows/tools/defs/SAY_HELLO
  ${as('T')} '${url}/workflows/tools/list?names=SAY_HELLO'
  ${as('A')} -X PUT -d '${definition}' '${url}/workflows/tools/defs/SAY_HELLO?layer=global'

Upload a Python file and call its tool:

  ${as('T')} -T docs/examples/weather.py ${url}/workflows/tools/modules/weather
  ${as('T')} -d '{"name":"weather:get_report","arguments":{"location":"Bern"}}' ${url}/workflows/tools/invoke

A change of a source or definition file is served with the next request. Ctrl-C stops everything.
`
}

function pythonTools({ status, isolation, reason = 'The functions do not answer.' } = {}, missing) {
  if (status === 'ready') return `Python tools run beside them, at isolation ${isolation}.`
  return `Python tools do not run ${status === 'starting' ? 'yet' : 'here'}. ${missing ?? reason}`
}
