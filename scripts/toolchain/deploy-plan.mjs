import { readFileSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { evaluate, root } from './checkout.mjs'
import { deployParameters, parameterFiles } from './runner-deployment.mjs'

/** Describes, for a person, what a deployment of the checkout would send as it is built now. */
export async function deployPlan(node, project, runner) {
  const config = JSON.parse(readFileSync(join(root, 'firebase.json'), 'utf8'))
  const [functions] = config.functions
  const source = join(root, functions.source)
  const uploaded = await filesOf(source, functions.ignore)
  const hosted = await filesOf(join(root, config.hosting.public), config.hosting.ignore)
  const { indexes, fieldOverrides } = JSON.parse(readFileSync(join(root, config.firestore.indexes), 'utf8'))
  const { RUNNER_SERVICE: service = '', RUNNER_REGION: region = '' } = deployParameters(project)
  const files = parameterFiles(project).map(({ name, isHere }) => (isHere ? name : `${name} (none)`))
  return [
    ...(runner?.plan ?? ['runner     none: the parameters name none, or one that is elsewhere']),
    `functions  ${endpoints(node).join('\n           ')}`,
    `           from ${uploaded.length} files of ${functions.source}/, ${size(uploaded)} before compression:`,
    ...uploaded.map((file) => `             ${relative(source, file.path)}  ${size([file])}`),
    `           with the parameters of ${files.join(' and ')}, RUNNER_SERVICE=${service} RUNNER_REGION=${region}`,
    `hosting    ${config.hosting.rewrites.map((rewrite) => `${rewrite.source} to ${rewrite.function.functionId}`).join(', ')}`,
    `           and ${hosted.map(({ path }) => relative(root, path)).join(', ')}`,
    `firestore  the rules of ${config.firestore.rules}, in place of those that are there`,
    `           ${indexes.length} composite indexes and ${fieldOverrides.length} fields without an index, of ${config.firestore.indexes}`,
  ].join('\n')
}

/** The files that firebase-tools would upload, chosen by its own code. */
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

/** One line for each built function, made from its endpoint, which firebase-tools reads too. */
function endpoints(node) {
  const code = `const endpoints = Object.entries(module).map(([name, { __endpoint }]) => [name, __endpoint]);
    process.stdout.write(JSON.stringify(endpoints))`
  return JSON.parse(evaluate(node, 'functions/dist/index.js', code)).map(([name, endpoint]) => {
    const secrets = endpoint.secretEnvironmentVariables.map(({ key }) => key)
    const access = endpoint.httpsTrigger.invoker.join(', ')
    return `${name} in ${endpoint.region.join(', ')}, ${endpoint.availableMemoryMb} MiB, at most ${endpoint.maxInstances} instances, invoker ${access}, secret ${secrets.join(', ')}`
  })
}
