import { expect, test } from '@jest/globals'
import { isCutOff, npmErrors } from '../../scripts/toolchain/npm.mjs'

const failedAttempt = 'npm http fetch GET //registry/zod attempt 1 failed with ECONNREFUSED\n'
const cached = 'npm http fetch GET 200 //registry/zod 5ms (cache hit)\n'
const fetched = 'npm http fetch GET 200 //registry/zod 25ms (cache miss)\n'

test('of what npm prints its reasons are kept; its warnings, stacks and log files are not', () => {
  const output = `npm warn Unknown user config "x".
npm error code ECONNREFUSED
npm error
npm error FetchError: request failed
npm error     at emitErrorEvent (node:_http_client:114:11)
npm error A complete log of this run can be found in: /somewhere
`
  expect(npmErrors(output)).toEqual([
    '  npm error code ECONNREFUSED',
    '  npm error FetchError: request failed',
  ])
})

test('where npm names no error, the failed attempts are the reason, else whatever it printed', () => {
  expect(npmErrors(`npm warn x\n${failedAttempt}\nup to date in 9s\n`)).toEqual([`  ${failedAttempt.trim()}`])
  expect(npmErrors('sh: npm: not found\n')).toEqual(['  sh: npm: not found'])
})

test('there is no network when attempts only fail; an answer from the cache is none from the network', () => {
  expect(isCutOff(failedAttempt.repeat(5))).toBe(false)
  expect(isCutOff(cached + failedAttempt.repeat(60))).toBe(true)
  expect(isCutOff(fetched + failedAttempt.repeat(60))).toBe(false)
})
