import { canonicalJson, grantsDigest, type ToolDefinition } from '@toolrack/contract'
import { hash } from 'node:crypto'
import type { PackageLock } from '../../functions/src/catalog/definitions/package-lock.ts'
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
  options: Partial<ModulePut> = {},
): ModulePut {
  return {
    kind: 'put',
    name,
    sha256: sha256Of(content),
    ...moduleContent(content),
    report: { specs: tools.map((each) => ({ name: `${name}:${each}` })) },
    tools: tools.map((each) => put(moduleTool(name, each, content))),
    grants: [],
    grantsDigest: grantsDigest([]),
    consent: null,
    ...(options as object),
  }
}

/** A lock of one package. Another version of the package makes another digest. */
export function lockOf(version: string, requirements: readonly string[] = ['six']): PackageLock {
  const sha256 = hash('sha256', version)
  const file = `six-${version}-py3-none-any.whl`
  const packages = [{ name: 'six', version, file, sha256, bytes: 11_000 }]
  const locked = packages.map(({ bytes: _bytes, ...one }) => one)
  const digest = `sha256:${hash('sha256', canonicalJson(locked))}` as const
  return { digest, requirements, python: '3.11', platform: 'linux-x86_64', packages }
}

export function removeModule(name: string, options: Partial<DefinitionDelete> = {}): DefinitionDelete {
  return { kind: 'delete', name, ...options }
}
