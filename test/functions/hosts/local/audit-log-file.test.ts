import { expect, test } from '@jest/globals'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { auditLogFile } from '../../../../functions/src/hosts/local/audit-log-file.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const errors: string[] = []
const log = { error: (message: string) => void errors.push(message) }

test('a line that was cut when the service ended does not damage the next one', () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'audit.jsonl')
  writeFileSync(path, '{"a":1}\n{"half')
  const file = auditLogFile(path, log)
  file.copy(['{"b":2}', '{"c":3}'])
  file.copy(['{"d":4}'])
  file.close()
  const again = auditLogFile(path, log)
  again.copy(['{"e":5}'])
  again.close()
  expect(readFileSync(path, 'utf8')).toBe('{"a":1}\n{"half\n{"b":2}\n{"c":3}\n{"d":4}\n{"e":5}\n')
  expect(errors).toEqual([])
})
