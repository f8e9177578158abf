import { expect, test } from '@jest/globals'
import { errorBody, isToolrackError, ToolrackError } from '@toolrack/contract'

test('an error without a message of its own tells the public text and its code as the only reason', () => {
  expect(errorBody(new ToolrackError('TOOL_NOT_FOUND'))).toEqual({
    error: {
      code: 404,
      status: 'NOT_FOUND',
      message: 'There is no tool of that name in that layer.',
      details: [{ reason: 'TOOL_NOT_FOUND' }],
    },
  })
})

test('an error tells its own message and details, and never its cause', () => {
  const details = [{ reason: 'SCHEMA_REJECTED', pointer: '/parameters', index: 3 }] as const
  const error = new ToolrackError('SCHEMA_REJECTED', 'Too deep.', { details, cause: new Error('SECRET') })
  expect(errorBody(error)).toEqual({
    error: { code: 422, status: 'INVALID_ARGUMENT', message: 'Too deep.', details },
  })
})

test('an empty list of details still names the code', () => {
  expect(new ToolrackError('INTERNAL', 'x', { details: [] }).details).toEqual([{ reason: 'INTERNAL' }])
})

test("an error of another bundle's class is recognised by its code", () => {
  expect(isToolrackError(Object.assign(new Error('x'), { code: 'STORE_BUSY', details: [] }))).toBe(true)
})

test.each([
  ['a code of the operating system', Object.assign(new Error('x'), { code: 'ENOENT', details: [] })],
  ['a name of Object.prototype as code', Object.assign(new Error('x'), { code: 'toString', details: [] })],
  ['no details', Object.assign(new Error('x'), { code: 'STORE_BUSY' })],
  ['a plain object', { code: 'STORE_BUSY', details: [] }],
  ['nothing', undefined],
])('%s does not make a Toolrack error', (_title, thrown) => {
  expect(isToolrackError(thrown)).toBe(false)
})
