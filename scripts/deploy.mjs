import { readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { readArguments, usageCode } from './toolchain/arguments.mjs'
import { buildFunctions } from './toolchain/build-functions.mjs'
import { evaluate, prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { runChild } from './toolchain/child.mjs'
import { deployParameters, parameterFiles, runnerDeployment } from './toolchain/runner-deployment.mjs'
import { runCommand, SetupError } from './toolchain/setup-error.mjs'
import { projectOption } from './toolchain/target-project.mjs'

const noProject =
  'No project is chosen: name it with npm run deploy -- --project <project id>, or for good with node_modules/.bin/firebase use --add.'

/** The secrets of the functions. */
const SECRETS = ['TOOLRACK_JOB_KEYS', 'TOOLRACK_SEALING_KEY']

const command = {
  name: 'deploy',
  about:
    'Prints the steps of a deployment, then runs them: the Python runner, the functions, Hosting, and Firestore.',
  options: {
    project: {
      ...projectOption,
      about: 'the Firebase project; by default the one that firebase use has stored',
    },
    'dry-run': { about: 'only prints the steps' },
  },
}

/** `npm run deploy -- [--project id] [--dry-run]`: prints the steps, then runs them. The runner is deployed first, because the functions call it. */
await runCommand(async () => {
  const { values } = readArguments(command)
  if (isDemo(values.project))
    throw new SetupError(`The project '${values.project}' exists in emulators only.`, usageCode)
  const isDry = values['dry-run'] === true
  const node = await prepare('full')
  const chosen = values.project ?? (await projectInUse())
  if (chosen === undefined && !isDry) throw new SetupError(noProject)
  const project = chosen ?? '<project id>'
  await buildFunctions(node)

  const runner = await runnerDeployment(project, { isDry })
  const firebase = firebaseSteps(project)
  process.stdout.write(`
To project ${chosen ?? `- none yet. ${noProject}`}

${await deployPlan(node, project, runner)}

Once for a project, the last two for the key that signs job tokens and the one that seals what is kept (docs/reference/configuration.md says how to make them):

${lines([...(runner?.once ?? []), ...SECRETS.map((name) => `node_modules/.bin/firebase functions:secrets:set ${name} --project ${project}`)])}

Each time, which this runs in this order; npm run build is the predeploy of the functions:

${lines([...(runner?.each ?? []), 'npm run build', ...firebase.map((step) => `node_modules/.bin/firebase ${step.join(' ')}`)])}

Nothing that another program has deployed is removed, but rules and indexes are those of the whole database. Of the functions of this product, those that this version no longer has are removed, and images of functions are deleted after a day.

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
  for (const step of firebase) {
    const { code } = await runWithNode(node, [program, ...step])
    if (code !== 0)
      throw new SetupError(
        `firebase ${step.join(' ')} failed, and the steps after it were not run. If it could not make the functions public, docs/how-to/deploy.md has a section about that.`,
        code,
      )
  }
  return 0
})

/**
 * The commands of firebase-tools, in their order. The first deployment of functions asks for how many days images are kept. Without
 * a terminal nobody can answer, and the deployment would end before Hosting is released. `--force` answers the question. Only the
 * functions have it, because for Firestore it would delete the indexes of other programs.
 */
function firebaseSteps(project) {
  const deploy = ['deploy', '--project', project, '--only']
  return [
    [...deploy, 'firestore'],
    [...deploy, 'functions:toolrack', '--force'],
    [...deploy, 'hosting'],
  ]
}

function lines(commands) {
  return commands.map((command) => `  ${command}`).join('\n')
}

/** True if the name begins with `demo-`. firebase-tools reserves these names for projects that exist in emulators only. */
function isDemo(project) {
  return project?.startsWith('demo-') === true
}

/** The project that `firebase deploy` would take, chosen by the code of firebase-tools. Undefined if it is a demo project. */
async function projectInUse() {
  const { Command } = await import('firebase-tools/lib/command.js')
  const options = { cwd: root, projectRoot: root }
  await new Command('deploy').applyRC(options)
  return isDemo(options.project) ? undefined : (options.project ?? undefined)
}

/** Describes, for a person, what a deployment of the present build would upload. */
async function deployPlan(node, project, runner) {
  const config = JSON.parse(readFileSync(join(root, 'firebase.json'), 'utf8'))
  const [functions] = config.functions
  const source = join(root, functions.source)
  const { listFiles } = await import('firebase-tools/lib/listFiles.js')
  const uploaded = await filesOf(source, functions.ignore)
  const hosted = listFiles(join(root, config.hosting.public), config.hosting.ignore).toSorted()
  const { indexes, fieldOverrides } = JSON.parse(readFileSync(join(root, config.firestore.indexes), 'utf8'))
  const { TOOLRACK_REGION = '', RUNNER_SERVICE = '', ...others } = deployParameters(project)
  const files = parameterFiles(project).map(({ name, isHere }) => (isHere ? name : `${name} (none)`))
  return [
    ...(runner?.plan ?? ['runner     none: the parameters name none, or one that is elsewhere']),
    `functions  ${endpoints(node, TOOLRACK_REGION).join('\n           ')}`,
    `           from ${uploaded.length} files of ${functions.source}/, ${size(uploaded)} before compression:`,
    ...uploaded.map((file) => `             ${relative(source, file.path)}  ${size([file])}`),
    `           with the parameters of ${files.join(' and ')}, TOOLRACK_REGION=${TOOLRACK_REGION} RUNNER_SERVICE=${RUNNER_SERVICE} RUNNER_REGION=${others.RUNNER_REGION ?? ''}`,
    `hosting    ${config.hosting.rewrites.map((rewrite) => `${rewrite.source} to ${rewrite.function.functionId}`).join(', ')}`,
    `           and ${hosted.map((path) => join(config.hosting.public, path)).join(', ')}`,
    `firestore  the rules of ${config.firestore.rules}, in place of those that are there`,
    `           ${indexes.length} composite indexes and ${fieldOverrides.length} fields without an index, of ${config.firestore.indexes}`,
  ].join('\n')
}

/** The files of the functions that firebase-tools would upload, chosen by the code of firebase-tools. */
async function filesOf(folder, ignore) {
  const { readdirRecursive } = await import('firebase-tools/lib/fsAsync.js')
  const files = await readdirRecursive({ path: folder, ignoreStrings: ignore })
  return files
    .map(({ name }) => ({ path: name, bytes: statSync(name).size }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
}

function size(files) {
  return `${Math.ceil(files.reduce((sum, { bytes }) => sum + bytes, 0) / 1024)} KiB`
}

/** One line for each built function, made from its `__endpoint`. firebase-tools reads the same field, with the same region. */
function endpoints(node, region) {
  const code = `const endpoints = Object.entries(module).map(([name, { __endpoint }]) => [name, __endpoint]);
    process.stdout.write(JSON.stringify(endpoints))`
  return JSON.parse(evaluate(node, 'functions/dist/index.js', code, { TOOLRACK_REGION: region })).map(
    ([name, endpoint]) => {
      const secrets = endpoint.secretEnvironmentVariables.map(({ key }) => key)
      const access = endpoint.httpsTrigger.invoker.join(', ')
      return `${name} in ${endpoint.region.join(', ')}, ${endpoint.availableMemoryMb} MiB, at most ${endpoint.maxInstances} instances, invoker ${access}, secret ${secrets.join(', ')}`
    },
  )
}
