import { expect, test } from '@jest/globals'
import type { CheckedModule } from '../../../../functions/src/tools/modules/checked-module.ts'
import { moduleReport, REPORT_BYTES_MAX } from '../../../../functions/src/tools/modules/module-report.ts'
import { checkedModule } from '../../../support/reading-runner.ts'

function reportOf(checked: CheckedModule) {
  const specs = checked.specs.map((spec) => ({ spec, faults: spec.faults }))
  return moduleReport(checked, specs)
}

function withExamples(checked: CheckedModule, text: string): CheckedModule {
  const examples = [{ index: 0, outcome: 'success', matched: true, text }]
  return { ...checked, specs: checked.specs.map((spec) => ({ ...spec, examples })) }
}

test('a report that fits is kept whole', () => {
  const checked = withExamples(checkedModule('"m:a" "m:b"'), 'x'.repeat(100_000))
  const report = reportOf(checked)
  expect(report).not.toHaveProperty('shortened')
  expect(report['specs']).toMatchObject(checked.specs.map(({ name, examples }) => ({ name, examples })))
})

test('one that does not is kept without what examples gave, and says so', () => {
  const report = reportOf(withExamples(checkedModule('"m:a" "m:b"'), 'é'.repeat(REPORT_BYTES_MAX / 3)))
  expect(report).toMatchObject({
    shortened: true,
    specs: ['m:a', 'm:b'].map((name) => ({
      name,
      examples: [{ index: 0, outcome: 'success', matched: true }],
    })),
  })
  expect(JSON.stringify(report)).not.toContain('é')
})

test('whatever a module makes a runner say, a report stays small', () => {
  const fault = { code: 'MODULE_INVALID', kind: 'name_invalid', message: 'x'.repeat(30_000) } as const
  const spec = { name: null, line: 1, faults: Array.from({ length: 200 }, () => fault), notes: [] }
  const examples = Array.from({ length: 100 }, () => ({
    index: 'x'.repeat(10_000),
    outcome: 'x'.repeat(10_000),
  }))
  const specs = Array.from({ length: 50 }, () => ({ ...spec, examples }))
  const report = reportOf({ ...checkedModule(''), imports: ['x'.repeat(256)], specs })
  expect(Buffer.byteLength(JSON.stringify(report))).toBeLessThanOrEqual(REPORT_BYTES_MAX)
  expect(report['shortened']).toBe(true)
})
