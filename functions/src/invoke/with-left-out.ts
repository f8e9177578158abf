import type { ToolDefinition } from '@toolrack/contract'
import { withoutNulls } from '@toolrack/contract'
import type { CatalogEntry } from '../catalog/catalog-entry.ts'
import type { CallRequest } from './call.ts'

/** The call with the arguments that its tool takes, where null has said that one is left out. */
export function withLeftOut(request: CallRequest, { stored }: CatalogEntry): CallRequest {
  if (!request.nullLeavesOut || !JSON.stringify(request.arguments).includes('null')) return request
  const { parameters } = (JSON.parse(stored.text) as ToolDefinition).function
  return { ...request, arguments: withoutNulls(parameters, request.arguments) }
}
