import { createRequire } from 'node:module'
import type * as declaration from './declaration.ts'
import { serving, type Handler } from './hosts/cloud/serving.ts'

/** The Cloud Function for users, who send Firebase ID tokens. It also serves `/api/**`, `/health` and `/`. */
export const workflows = declared(serving('workflows'))

/** The Cloud Function for workflows that act for a user. */
export const jobs = declared(serving('jobs'))

/**
 * Returns what this module exports for a function. In a process that only has to serve requests, it is the handler itself. The
 * platform sets FUNCTION_TARGET in such a process. firebase-functions is not loaded there: loading takes 100 ms of the start,
 * nearly all for firebase-admin, and a request does not need it.
 *
 * For a deployment, it is the declaration of the function. `declaration.ts` is loaded by `require`, because the emulator cannot
 * load a module that awaits.
 */
function declared(handler: Handler): Handler | ReturnType<typeof declaration.declare> {
  if (process.env['FUNCTION_TARGET'] !== undefined) return handler
  const path = `./declaration.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`
  const { declare } = createRequire(import.meta.url)(path) as typeof declaration
  return declare(handler)
}
