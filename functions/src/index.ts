import { createRequire } from 'node:module'
import type * as declaration from './declaration.ts'
import { serving, type Handler } from './hosts/cloud/serving.ts'

/** The function for users, who send Firebase ID tokens. It also serves `/api/**`, `/health` and `/`. */
export const workflows = declared(serving('workflows'))

/** The function for workflows that act for a user. */
export const jobs = declared(serving('jobs'))

/**
 * Returns the handler itself if the function only has to serve requests. In this case, the platform sets FUNCTION_TARGET. Then
 * firebase-functions is not loaded: loading takes 100 ms of the start, nearly all for firebase-admin, and a request does not need
 * it.
 *
 * A deployment gets the declaration. `require` loads `declaration.ts`, because the emulator cannot load a module that awaits.
 */
function declared(handler: Handler): Handler | ReturnType<typeof declaration.declare> {
  if (process.env['FUNCTION_TARGET'] !== undefined) return handler
  const path = `./declaration.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`
  const { declare } = createRequire(import.meta.url)(path) as typeof declaration
  return declare(handler)
}
