import { formatScopeItem, itemsNaming, parseScope, scopeFaultText, scopeTest } from '@toolrack/contract'
import type { Scope, ToolDefinition, ToolInScope } from '@toolrack/contract'
import { ToolsError } from './errors.ts'

/**
 * Compares local definitions with scopes, in the same way as the service. Throws OPTION_INVALID for a text that is not a scope.
 */
export function localScopes(texts: readonly string[], definitions: readonly ToolDefinition[]) {
  const scopes = texts.map(parsed)
  const tests = scopes.map(scopeTest)
  const tools = definitions.map(toolInScope)
  const items = scopes.flatMap((scope) => (scope.kind === 'items' ? scope.items : []))
  const named = new Set(tools.flatMap(itemsNaming(items)))
  const unmatched = items
    .filter((_item, index) => !named.has(index))
    .map((item) => formatScopeItem({ ...item, excludes: false }))
  const isIn = (definition: ToolDefinition): boolean =>
    tests.every((isInScope) => isInScope(toolInScope(definition)))
  return { isIn, unmatched: [...new Set(unmatched)] }
}

function parsed(text: string): Scope {
  const scope = parseScope(text)
  if ('fault' in scope) throw new ToolsError('OPTION_INVALID', `The option scope ${scopeFaultText(scope)}`)
  return scope
}

function toolInScope({ function: { name }, category, tags = [], runner }: ToolDefinition): ToolInScope {
  return { name, category, tags, internal: runner?.kind === 'builtin' }
}
