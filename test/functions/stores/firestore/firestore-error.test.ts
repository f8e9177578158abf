import { expect, test } from '@jest/globals'
import { errorOfRead } from '../../../../functions/src/stores/firestore/firestore-error.ts'

const error = (code: number, message: string) => Object.assign(new Error(message), { code })

test('a transaction that the emulator has closed is tried again by the client, which does so after ABORTED', () => {
  expect(errorOfRead(error(3, '3 INVALID_ARGUMENT: Transaction is invalid or closed.'))).toMatchObject({
    code: 10,
  })
})

test.each([
  [3, '3 INVALID_ARGUMENT: The value of a field is too long.'],
  [14, '14 UNAVAILABLE: Transaction is invalid or closed.'],
])('any other error of a read stays as it is: %i %s', (code, message) => {
  const other = error(code, message)
  expect(errorOfRead(other)).toBe(other)
})
