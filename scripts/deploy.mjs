#!/usr/bin/env node
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildFunctions } from './toolchain/build-functions.mjs'
import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { deployPlan } from './toolchain/deploy-plan.mjs'
import { runCommand, SetupFailure } from './toolchain/setup-failure.mjs'

const choose =
  'No project is chosen: name it with npm run deploy -- --project <project id>, or for good with node_modules/.bin/firebase use --add.'
const targets = 'functions:toolrack,hosting,firestore'

/** `npm run deploy -- [--project id] [--dry-run]`: says what it will do, then does it. */
await runCommand(async () => {
  const { project, isDry } = chosen()
  if (!project && !isDry) throw new SetupFailure(choose)
  const node = await prepare('full')
  await buildFunctions(root, node)

  const command = ['deploy', '--project', project ?? '<project id>', '--only', targets]
  process.stdout.write(`${await announcement(node, project, command)}\n`)
  if (isDry) return 0
  const firebase = join(root, 'node_modules/firebase-tools/lib/bin/firebase.js')
  return (await runWithNode(node, [firebase, ...command], { cwd: root })).code
})

async function announcement(node, project, command) {
  return `
To project ${project ?? `- none yet. ${choose}`}

${await deployPlan(root, node, project ?? '<project id>')}

Once for a project, the key that signs job tokens (docs/operations.md says how to make one):

  node_modules/.bin/firebase functions:secrets:set TOOLRACK_JOB_KEYS --project ${project ?? '<project id>'}

Each time, of which this runs the second, whose predeploy is the first:

  npm run build
  node_modules/.bin/firebase ${command.join(' ')}

Nothing that another program has deployed is removed, but rules and indexes are those of the whole database.
`
}

function chosen() {
  try {
    const { values } = parseArgs({ options: { project: { type: 'string' }, 'dry-run': { type: 'boolean' } } })
    return { project: values.project ?? projectInUse(), isDry: values['dry-run'] === true }
  } catch (err) {
    throw new SetupFailure(err.message)
  }
}

/** What `firebase use` has written. */
function projectInUse() {
  const path = join(root, '.firebaserc')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).projects?.default : undefined
}
