import type { ToolDefinition } from '@toolrack/contract'
import type { DefinitionDelete } from '../../functions/src/catalog/definitions/definition-change.ts'
import {
  contentSha256,
  filesOf,
  mapContent,
  type ModuleContent,
} from '../../functions/src/catalog/definitions/module-content.ts'
import type { ModulePut } from '../../functions/src/catalog/definitions/module-store.ts'
import { put, tool } from './definition-changes.ts'

/** A source, or the texts of several files by their paths. */
export type Content = string | Readonly<Record<string, string>>

export function moduleContent(content: Content): ModuleContent {
  return typeof content === 'string' ? { source: content } : { files: filesOf(Object.entries(content)) }
}

export function sha256Of(content: Content): string {
  return contentSha256(mapContent(moduleContent(content), (text) => Buffer.from(text)))
}

/** A tool that a module with that source defines. */
export function moduleTool(module: string, name: string, source: Content): ToolDefinition {
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
  content: Content = `# ${name}: ${tools.join()}`,
  options: Pick<ModulePut, 'precondition'> & Partial<Pick<ModulePut, 'report'>> = {},
): ModulePut {
  return {
    kind: 'put',
    name,
    sha256: sha256Of(content),
    ...moduleContent(content),
    report: { specs: tools.map((each) => ({ name: `${name}:${each}` })) },
    tools: tools.map((each) => put(moduleTool(name, each, content))),
    ...options,
  }
}

export function removeModule(name: string, options: Partial<DefinitionDelete> = {}): DefinitionDelete {
  return { kind: 'delete', name, ...options }
}
