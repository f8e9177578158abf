import type { Request } from 'express'

/** The tool name in the path, percent-decoded by the router. */
export function pathName(req: Request): string {
  const { name } = req.params
  return typeof name === 'string' ? name : ''
}
