import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { freePorts } from '../../scripts/toolchain/ports.mjs'

/** The program of the Functions Framework, as the platform starts it. */
export const FRAMEWORK = join(
  dirname(createRequire(import.meta.url).resolve('@google-cloud/functions-framework')),
  'main.js',
)

/** Tells the framework which function of a folder to serve, on a port of its own. */
export async function served(source: string, target: string): Promise<NodeJS.ProcessEnv> {
  const [port] = await freePorts(1)
  return { FUNCTION_SOURCE: source, FUNCTION_TARGET: target, PORT: String(port) }
}
