import type { Runner } from '../../functions/src/tools/modules/runner.ts'
import { absentRunner } from '../../functions/src/tools/modules/runner.ts'
import type { CheckedModule } from '../../functions/src/tools/modules/checked-module.ts'

/** A runner that reads names and no Python: every `"module:function"` of a source is the name of a good tool. */
export function readingRunner(): Runner {
  return {
    ...absentRunner('It runs nothing.'),
    check: ({ source }) => Promise.resolve(checkedModule(Buffer.from(source).toString())),
  }
}

export function checkedModule(source: string, description = 'Does one small thing.'): CheckedModule {
  const names = new Set(Array.from(source.matchAll(/"(\w+:\w+)"/g), ([, name]) => name ?? ''))
  return {
    faults: [],
    notes: [],
    imports: [],
    missingImports: [],
    log: '',
    specs: [...names].map((name, index) => ({
      name,
      line: index + 1,
      content: {
        description,
        parameters: { type: 'object', properties: {}, required: [] },
        derived: ['parameters'],
        secrets: [],
        network: [],
      },
      faults: [],
      notes: [],
      examples: [],
    })),
  }
}
