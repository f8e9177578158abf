/** The major version of Node that `functions/package.json` requires. */
const NODE_MAJOR = 24

/**
 * Throws in the emulator if Node is older than NODE_MAJOR. firebase-tools runs functions on the Node of the shell, and some
 * requests would fail on an older Node. A deployment may use any Node, because its functions run on the Node of their manifest.
 */
export function checkNode(version = process.versions.node, env: NodeJS.ProcessEnv = process.env): void {
  if (env['FUNCTIONS_EMULATOR'] !== 'true' || Number.parseInt(version, 10) >= NODE_MAJOR) return
  throw new Error(
    `the functions need Node ${NODE_MAJOR}, and this is Node ${version}: start the emulators with npm run dev, or with the line that npm run build prints`,
  )
}
