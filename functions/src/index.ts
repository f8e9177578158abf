import { createRequire } from 'node:module'
import type * as declaration from './declaration.ts'
import { serving, type Handler } from './hosts/cloud/serving.ts'

/** For users, with Firebase ID tokens. It also serves `/api/**` and `/health`. */
export const workflows = declared(serving('workflows'))

/** For workflows that act for a user. */
export const jobs = declared(serving('jobs'))

/**
 * If the function only has to serve, the platform sets FUNCTION_TARGET and gets the handler itself: firebase-functions takes 100 ms
 * of a new instance, nearly all for firebase-admin, and does nothing for a request. A deployment gets the declaration, which is
 * loaded by `require`, because the emulator cannot load a module that awaits.
 */
function declared(handler: Handler): Handler | ReturnType<typeof declaration.declare> {
  if (process.env['FUNCTION_TARGET'] !== undefined) return handler
  const path = `./declaration.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`
  const { declare } = createRequire(import.meta.url)(path) as typeof declaration
  return declare(handler)
}
