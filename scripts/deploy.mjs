import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildFunctions } from './toolchain/build-functions.mjs'
import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { runChild } from './toolchain/child.mjs'
import { deployPlan } from './toolchain/deploy-plan.mjs'
import { runnerDeployment } from './toolchain/runner-deployment.mjs'
import { runCommand, SetupError } from './toolchain/setup-error.mjs'

const noProject =
  'No project is chosen: name it with npm run deploy -- --project <project id>, or for good with node_modules/.bin/firebase use --add.'

/** `npm run deploy -- [--project id] [--dry-run]`: prints the steps, then runs them. The runner is deployed first, because the functions call it. */
await runCommand(async () => {
  const { values } = parseArgs({ options: { project: { type: 'string' }, 'dry-run': { type: 'boolean' } } })
  const chosen = values.project ?? projectInUse()
  const isDry = values['dry-run'] === true
  if (chosen === undefined && !isDry) throw new SetupError(noProject)
  const project = chosen ?? '<project id>'
  const node = await prepare('full')
  await buildFunctions(node)

  const runner = await runnerDeployment(project, { isDry })
  const firebase = ['deploy', '--project', project, '--only', 'functions:toolrack,hosting,firestore']
  process.stdout.write(`
To project ${chosen ?? `- none yet. ${noProject}`}

${await deployPlan(node, project, runner)}

Once for a project, the last for the key that signs job tokens (docs/configuration.md says how to make one):

${lines([...(runner?.once ?? []), `node_modules/.bin/firebase functions:secrets:set TOOLRACK_JOB_KEYS --project ${project}`])}

Each time, which this runs in this order; npm run build is the predeploy of the last:

${lines([...(runner?.each ?? []), 'npm run build', `node_modules/.bin/firebase ${firebase.join(' ')}`])}

Nothing that another program has deployed is removed, but rules and indexes are those of the whole database.

`)
  if (isDry) return 0
  runner?.write()
  for (const line of runner?.each ?? []) {
    const [command, ...args] = line.split(' ')
    const { code } = await runChild(command, args, { cwd: root })
    if (code !== 0)
      throw new SetupError('The runner was not deployed. The steps after it were not run.', code)
  }
  const program = join(root, 'node_modules/firebase-tools/lib/bin/firebase.js')
  return (await runWithNode(node, [program, ...firebase])).code
})

function lines(commands) {
  return commands.map((command) => `  ${command}`).join('\n')
}

/** The project that `firebase use` has stored. */
function projectInUse() {
  const path = join(root, '.firebaserc')
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).projects?.default : undefined
}
