import { expect, test } from '@jest/globals'
import { readConfig } from '../../../../functions/src/hosts/config.ts'

test('a mistyped variable is named with the one that is meant; one of another program is not named', () => {
  const names = ['TOOLRACK_ZZZ', 'TOOLRACK_STOREMB', 'TOOLRACK_PORT', 'RALPH_RESOURCE_LIMIT', 'RALPH_MODEL']
  const { notices, faults } = readConfig(Object.fromEntries(names.map((name) => [name, 'x'])))
  expect(notices.map(({ fields }) => fields)).toEqual([
    { name: 'TOOLRACK_ZZZ' },
    { name: 'TOOLRACK_STOREMB', similar: 'TOOLRACK_STORE_MB' },
    { name: 'TOOLRACK_PORT', similar: 'PORT' },
    { name: 'RALPH_RESOURCE_LIMIT', similar: 'RALPH_RESOURCE_LIMITS' },
  ])
  expect(faults).toEqual([])
})
