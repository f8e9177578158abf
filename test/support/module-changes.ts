import type { ToolDefinition } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import type { DefinitionDelete } from '../../functions/src/tools/definitions/definition-change.ts'
import type { ModulePut } from '../../functions/src/tools/modules/module-store.ts'
import { put, tool } from './definition-changes.ts'

export function sha256Of(source: string): string {
  return createHash('sha256').update(source).digest('hex')
}

/** A tool that a module with that source defines. */
export function moduleTool(module: string, name: string, source: string): ToolDefinition {
  return {
    ...tool(`${module}:${name}`),
    runner: { kind: 'python', module, sha256: sha256Of(source) },
    category: module,
  }
}

/** A write of a module with these tools. Another source changes the content. */
export function putModule(
  name: string,
  tools: readonly string[],
  source = `# ${name}: ${tools.join()}`,
  options: Partial<ModulePut> = {},
): ModulePut {
  return {
    kind: 'put',
    name,
    sha256: sha256Of(source),
    source,
    report: { specs: tools.map((each) => ({ name: `${name}:${each}` })) },
    tools: tools.map((each) => put(moduleTool(name, each, source))),
    ...options,
  }
}

export function removeModule(name: string, options: Partial<DefinitionDelete> = {}): DefinitionDelete {
  return { kind: 'delete', name, ...options }
}
