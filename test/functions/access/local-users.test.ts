import { expect, test } from '@jest/globals'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { localUsersText, parseLocalUsers } from '../../../functions/src/access/local-users.ts'
import { EXIT } from '../../../functions/src/hosts/local/start-error.ts'
import { readUsersFile } from '../../../functions/src/hosts/local/users-file.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const ADA = { name: 'ada', isAdmin: true, token: 'a'.repeat(64), approverToken: 'b'.repeat(64) }
const textOf = (...users: readonly object[]): string => JSON.stringify({ users })

test('users are read as they are written', () => {
  const users = [ADA, { ...ADA, name: 'bob', isAdmin: false }]
  expect(parseLocalUsers(localUsersText(users))).toEqual(users)
  expect(parseLocalUsers(localUsersText([]))).toEqual([])
})

test.each([
  ['not JSON', '{'],
  ['empty', ''],
  ['another shape', '{"ada": "token"}'],
  ['a user twice', textOf(ADA, ADA)],
  ['a token in place of its hash', textOf({ ...ADA, token: 'secret' })],
  ['one token for both', textOf({ ...ADA, approverToken: ADA.token })],
  ['a name that is none', textOf({ ...ADA, name: '../a' })],
  ['a field that is not known', textOf({ ...ADA, mail: 'a@b.example' })],
])('a users file that is broken is refused, and what is in it is not repeated: %s', (_what, text) => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'users.json')
  writeFileSync(path, text)
  expect(parseLocalUsers(text)).toBeUndefined()
  expect(() => readUsersFile(path)).toThrow(
    expect.objectContaining({
      exitCode: EXIT.damagedData,
      message: expect.stringMatching(/users\.json must be \{"users": .* move it away[^\n]*\.$/),
    }),
  )
  expect(() => readUsersFile(path)).not.toThrow(/secret/)
})
