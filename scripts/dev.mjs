import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { readArguments } from './toolchain/arguments.mjs'
import { signIn, signInWithClaims } from './toolchain/auth-emulator.mjs'
import { watchBundle } from './toolchain/build-functions.mjs'
import { evaluate, prepare, root } from './toolchain/checkout.mjs'
import { inQuotes } from './toolchain/by-hand.mjs'
import { stopSignal } from './toolchain/child.mjs'
import {
  addressesOf,
  demoProject,
  emulatorEnvironment,
  startEmulators,
  startRunner,
  writeLocalSecrets,
} from './toolchain/emulators.mjs'
import { isFree } from './toolchain/ports.mjs'
import { preparePython } from './toolchain/python-environment.mjs'
import { runCommand, SetupError } from './toolchain/setup-error.mjs'

const command = {
  name: 'dev',
  about: `Runs the functions on the Firebase emulators, and the Python runner beside them, until Ctrl-C. Needs Java 21 or newer.
Prints two tokens and commands to copy. A change of a source file or a definition file takes effect with the next request.`,
}

const definition =
  '{"description":"Says hello to somebody.","parameters":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}'

/**
 * `npm run dev`: runs the functions on the Firebase emulators, and the Python runner beside them, until a signal. Bundles
 * the functions again after each change of their source. If RUNNER_URL is set, no runner is started.
 */
await runCommand(async () => {
  readArguments(command)
  const node = await prepare('full')
  const { python, missing } = await preparePython('runtime')
  const signal = stopSignal()
  const config = join(root, 'firebase.json')
  const { emulators: configured } = JSON.parse(readFileSync(config, 'utf8'))
  const machine = emulatorEnvironment(node)
  await checkPorts(configured)
  const bundle = await watchBundle()
  let runner
  try {
    if (bundle.errors > 0) return 1 // esbuild has printed the errors
    checkLoads(node)
    // If this file is missing, the functions read the definition folder itself, and see its changes.
    rmSync(join(root, 'functions/dist/file-layer.json'), { force: true })
    writeLocalSecrets(node)
    process.stdout.write('Starting the Firebase emulators ...\n')
    let isReady = false
    const onOutput = (text) => (isReady || !text.startsWith('info')) && process.stdout.write(text)
    if (python && !process.env.RUNNER_URL) runner = await startRunner({ node, python, signal, onOutput })
    const emulators = await startEmulators({
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
    const part = await Promise.race([
      emulators.ended.then(() => 'The emulators have'),
      ...(runner ? [runner.ended.then(() => 'The Python runner has')] : []),
    ])
    await emulators.stop()
    if (signal.aborted) return 0
    throw new SetupError(`${part} ended unexpectedly.`)
  } finally {
    await runner?.stop()
    await bundle.stop()
  }
})

/** The state of the runner, as the functions report it. Undefined if the functions answer with an error. */
async function healthOf(hosting, { idToken }) {
  const answer = await fetch(`http://${hosting}/health`, { headers: { Authorization: `Bearer ${idToken}` } })
  return answer.ok ? (await answer.json()).runner : undefined
}

/** Throws if another program listens on a port of the emulators. */
async function checkPorts(configured) {
  for (const [name, emulator] of Object.entries(configured)) {
    for (const key of ['port', 'websocketPort'].filter((each) => emulator[each])) {
      if (await isFree(emulator[key])) continue
      throw new SetupError(
        `Port ${emulator[key]} is in use by another program; stop it, or change emulators.${name}.${key} in firebase.json.`,
      )
    }
  }
}

/** Throws if the functions cannot be loaded. firebase-tools would need ten seconds to notice, and would not report the reason. */
function checkLoads(node) {
  try {
    evaluate(node, 'functions/dist/index.js')
  } catch (err) {
    throw new SetupError(`The functions throw as they are loaded:\n${err.message}`)
  }
}

function as(token) {
  return `curl -H "Authorization: Bearer $${token}"`
}

/** The text that `npm run dev` prints when everything is ready: the endpoint, two users, and commands to copy. */
function devBanner({ hosting, user, admin, health, missing }) {
  const url = `http://${hosting}`
  return `
Toolrack on the Firebase emulators is ready at ${url}

  T='${user.idToken}'
  A='${admin.idToken}'

$T belongs to user@example.com, $A to admin@example.com. Only $A may write the global layer. Both tokens last for an hour.
${pythonTools(health, missing)}
List the tools, define one, and list it again:

  ${as('T')} ${url}/workflows/tools/list
  ${as('T')} -X PUT -d '${definition}' ${url}/workflows/tools/defs/SAY_HELLO
  ${as('T')} '${url}/workflows/tools/list?names=SAY_HELLO'
  ${as('A')} -X PUT -d '${definition}' '${url}/workflows/tools/defs/SAY_HELLO?layer=global'

${health?.status === 'ready' || health?.status === 'starting' ? pythonLines(url) : ''}A change of a source file or a definition file takes effect with the next request. Ctrl-C stops everything.
`
}

/** The commands for a Python file. `-H 'Expect:'` removes a header of curl 7, which the Hosting emulator answers with a 500. */
function pythonLines(url) {
  const example = inQuotes(join(root, 'docs/examples/weather.py'))
  return `Upload a Python file and call its tool:

  ${as('T')} -H 'Expect:' -T ${example} ${url}/workflows/tools/modules/weather
  ${as('T')} -d '{"name":"weather:get_report","arguments":{"location":"Bern"}}' ${url}/workflows/tools/invoke

`
}

function pythonTools({ status, isolation, reason = 'The functions do not answer.' } = {}, missing) {
  if (status === 'ready') return `Python tools run too, at isolation ${isolation}.`
  return `Python tools do not run ${status === 'starting' ? 'yet' : 'here'}. ${missing ?? reason}`
}
