import { expect, test } from '@jest/globals'
import type { CheckReport } from '../../../../functions/src/catalog/definitions/check-report.ts'
import {
  moduleReport,
  REPORT_BYTES_MAX,
} from '../../../../functions/src/catalog/definitions/module-report.ts'
import { checkedModule } from '../../../support/reading-runner.ts'

function reportOf(checked: CheckReport) {
  const specs = checked.tools.map((spec) => ({ spec, faults: spec.faults }))
  return moduleReport(checked, specs)
}

function withExamples(checked: CheckReport, text: string): CheckReport {
  const examples = [{ index: 0, outcome: 'success', matched: true, text }]
  return { ...checked, tools: checked.tools.map((spec) => ({ ...spec, examples })) }
}

test('a report that fits is kept whole', () => {
  const checked = withExamples(checkedModule('"m:a" "m:b"'), 'x'.repeat(100_000))
  const report = reportOf(checked)
  expect(report).not.toHaveProperty('shortened')
  expect(report['specs']).toMatchObject(checked.tools.map(({ name, examples }) => ({ name, examples })))
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
  const faults = Array.from({ length: 200 }, () => fault)
  const spec = { name: null, line: 1, accepted: false, faults, notes: [] } as const
  const examples = Array.from({ length: 100 }, () => ({
    index: 'x'.repeat(10_000),
    outcome: 'x'.repeat(10_000),
  }))
  const tools = Array.from({ length: 50 }, () => ({ ...spec, examples }))
  const report = reportOf({ ...checkedModule(''), imports: ['x'.repeat(256)], tools })
  expect(Buffer.byteLength(JSON.stringify(report))).toBeLessThanOrEqual(REPORT_BYTES_MAX)
  expect(report['shortened']).toBe(true)
})
