import { afterEach, expect, test } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { serving } from '../../../../functions/src/hosts/cloud/serving.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const before = { ...process.env }
afterEach(() => {
  process.env = { ...before }
})

test('a deployed function reads the configuration file at once, and fails with every fault of it', () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'toolrack.json')
  const set = { K_SERVICE: 'workflows', GOOGLE_CLOUD_PROJECT: 'demo', TOOLRACK_CONFIG: path }
  process.env = { PATH: before['PATH'], ...set }
  writeFileSync(path, '{"listEnvelope": "items", "auth": "local"}')
  expect(() => serving('workflows')).not.toThrow()
  writeFileSync(path, '{"listEnvelop": "items", "storeMb": 0}')
  expect(() => serving('workflows')).toThrow(
    `${path}:1 /listEnvelop is not known: did you mean listEnvelope?; ${path}:1 /storeMb must be from 1 to 1000000`,
  )
})
