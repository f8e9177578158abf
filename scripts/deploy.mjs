#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildFunctions } from './toolchain/build-functions.mjs'
import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { runChild } from './toolchain/child.mjs'
import { deployPlan } from './toolchain/deploy-plan.mjs'
import { functionsAccount } from './toolchain/functions-account.mjs'
import { runnerDeployment } from './toolchain/runner-deployment.mjs'
import { runCommand, SetupFailure } from './toolchain/setup-failure.mjs'

const choose =
  'No project is chosen: name it with npm run deploy -- --project <project id>, or for good with node_modules/.bin/firebase use --add.'
const targets = 'functions:toolrack,hosting,firestore'

/** `npm run deploy -- [--project id] [--dry-run]`: says what it will do, then does it: the runner first, for the functions call it. */
await runCommand(async () => {
  const { project = '<project id>', isDry, isChosen } = chosen()
  if (!isChosen && !isDry) throw new SetupFailure(choose)
  const node = await prepare('full')
  await buildFunctions(root, node)

  const runner = await runnerDeployment(root, project, () => functionsAccount(project, { isDry }))
  const firebase = ['deploy', '--project', project, '--only', targets]
  const plan = await deployPlan(root, node, project, runner)
  process.stdout.write(`${announcement({ project, isChosen, plan, runner, firebase })}\n`)
  if (isDry) return 0
  runner?.write()
  for (const line of runner?.each ?? []) {
    const [command, ...args] = line.split(' ')
    const { code } = await runChild(command, args, { cwd: root })
    if (code !== 0)
      throw new SetupFailure('The runner was not deployed, and nothing of what comes after it.', code)
  }
  const program = join(root, 'node_modules/firebase-tools/lib/bin/firebase.js')
  return (await runWithNode(node, [program, ...firebase], { cwd: root })).code
})

function announcement({ project, isChosen, plan, runner, firebase }) {
  const { once = [], each = [] } = runner ?? {}
  const secret = `node_modules/.bin/firebase functions:secrets:set TOOLRACK_JOB_KEYS --project ${project}`
  const all = [...each, 'npm run build', `node_modules/.bin/firebase ${firebase.join(' ')}`]
  return `
To project ${isChosen ? project : `- none yet. ${choose}`}

${plan}

Once for a project, the last for the key that signs job tokens (docs/operations.md says how to make one):

${lines([...once, secret])}

Each time, which this runs in this order; npm run build is the predeploy of the last:

${lines(all)}

Nothing that another program has deployed is removed, but rules and indexes are those of the whole database.
`
}

function lines(commands) {
  return commands.map((command) => `  ${command}`).join('\n')
}

function chosen() {
  try {
    const { values } = parseArgs({ options: { project: { type: 'string' }, 'dry-run': { type: 'boolean' } } })
    const project = values.project ?? projectInUse()
    return { project, isChosen: project !== undefined, isDry: values['dry-run'] === true }
  } catch (err) {
    throw new SetupFailure(err.message)
  }
}

/** What `firebase use` has written. */
function projectInUse() {
  const path = join(root, '.firebaserc')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).projects?.default : undefined
}
