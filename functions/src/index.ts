import { createRequire } from 'node:module'
import type * as declaration from './declaration.ts'
import { serving } from './hosts/cloud/serving.ts'
import type { Handler } from './hosts/cloud/serving.ts'

/** For users, with Firebase ID tokens; `/api/**` and `/health` come here too. */
export const workflows = declared(serving('workflows'))

/** For workflows that act for a user. */
export const jobs = declared(serving('jobs'))

/**
 * Where the function only has to serve, which the platform says by FUNCTION_TARGET, it is the handler as it is:
 * firebase-functions costs a new instance 100 ms, nearly all of it for firebase-admin, and does nothing for a request.
 * Loaded by `require`, because the emulator can't load a module that awaits.
 */
function declared(handler: Handler): Handler | ReturnType<typeof declaration.declare> {
  if (process.env['FUNCTION_TARGET'] !== undefined) return handler
  const path = `./declaration.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`
  const { declare } = createRequire(import.meta.url)(path) as typeof declaration
  return declare(handler)
}
