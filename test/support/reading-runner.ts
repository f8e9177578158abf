import type { ModuleContent } from '../../functions/src/catalog/definitions/module-content.ts'
import type { Runner } from '../../functions/src/catalog/definitions/runner.ts'
import { absentRunner } from '../../functions/src/catalog/definitions/runner.ts'
import type { CheckReport } from '../../functions/src/catalog/definitions/check-report.ts'

/** A runner that does not read Python: every `"module:function"` in a source is the name of a valid tool. */
export function readingRunner(): Runner {
  return {
    ...absentRunner('It runs nothing.'),
    check: (module) => Promise.resolve(checkedModule(textIn(module))),
  }
}

/** The text of a module, that of all its files one after another. */
export function textIn({ source, files }: ModuleContent<Uint8Array>): string {
  const parts = files ? files.map(({ content }) => content) : [source]
  return Buffer.concat(parts).toString()
}

export function checkedModule(source: string, description = 'Does one small thing.'): CheckReport {
  const names = new Set(Array.from(source.matchAll(/"(\w+:\w+)"/g), ([, name]) => name ?? ''))
  return {
    faults: [],
    notes: [],
    imports: [],
    missingImports: [],
    log: { text: '' },
    tools: [...names].map((name, index) => ({
      name,
      line: index + 1,
      accepted: true,
      description,
      parameters: { type: 'object', properties: {}, required: [] },
      derived: ['parameters'],
      annotations: null,
      timeoutSeconds: null,
      secrets: [],
      network: [],
      kinds: {},
      faults: [],
      notes: [],
      examples: [],
    })),
  }
}
