import { expect, test } from '@jest/globals'
import { CONVERSIONS, dialectRules, DIALECTS, inDialect } from '@toolrack/contract'
import { readFileSync } from 'node:fs'
import { bfclDefinitions } from '../support/bfcl-definitions.ts'

const PAGE = readFileSync(new URL('../../docs/reference/definitions.md', import.meta.url), 'utf8')

test('docs/reference/definitions.md counts what becomes of the 753 definitions in each dialect', () => {
  const definitions = bfclDefinitions('definitions')
  expect(definitions).toHaveLength(753)
  const counted = DIALECTS.map((dialect) => {
    const conversions = definitions.map(
      (definition) => inDialect(definition, dialectRules(dialect)).conversion,
    )
    const counts = CONVERSIONS.map((one) => conversions.filter((conversion) => conversion === one).length)
    return `| \`${dialect}\` | ${counts.join(' | ')} |`
  })
  const [, section = ''] = PAGE.split('\n### Counts\n')
  const rows = section.split('\n').filter((line) => line.startsWith('| '))
  expect(rows).toEqual([`| dialect | ${CONVERSIONS.join(' | ')} |`, ...counted])
})
