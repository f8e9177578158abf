import { definitionDigest } from '@toolrack/contract'
import type { ToolDefinition } from '@toolrack/contract'
import type {
  DefinitionDelete,
  DefinitionPut,
  WriteContext,
} from '../../functions/src/catalog/definitions/definition-change.ts'
import { LAYER_LIMITS } from '../../functions/src/catalog/definitions/layer-totals.ts'
import type { LayerLimits } from '../../functions/src/catalog/definitions/layer-totals.ts'

/** A small tool of that name. Another description changes the content. */
export function tool(name: string, description = `Does ${name}.`): ToolDefinition {
  return {
    type: 'function',
    function: { name, description, parameters: { type: 'object', properties: {}, required: [] } },
  }
}

export function put(definition: ToolDefinition, options: Partial<DefinitionPut> = {}): DefinitionPut {
  return {
    kind: 'put',
    name: definition.function.name,
    text: JSON.stringify(definition),
    digest: definitionDigest(definition),
    onConflict: 'upsert',
    ...options,
  }
}

export function remove(name: string, options: Partial<DefinitionDelete> = {}): DefinitionDelete {
  return { kind: 'delete', name, ...options }
}

export function by(uid: string, definitionsMax = 1_000, limits: Partial<LayerLimits> = {}): WriteContext {
  const at = new Date('2026-01-02T03:04:05.678Z')
  return { by: uid, at, limits: { ...LAYER_LIMITS.user, definitionsMax, ...limits } }
}
