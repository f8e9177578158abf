import { expect, test } from '@jest/globals'
import { adminHelp, adminPlan } from '../../scripts/toolchain/admin-plan.mjs'

test('the verb, the user and the project are taken in any order', () => {
  expect(adminPlan(['grant', 'ada@example.com'])).toEqual({ verb: 'grant', user: 'ada@example.com' })
  expect(adminPlan(['--project', 'my-project', 'revoke', 'u-1'])).toEqual({
    verb: 'revoke',
    user: 'u-1',
    project: 'my-project',
  })
})

test('--help asks for the help and nothing else', () => {
  for (const flag of ['--help', '-h']) expect(adminPlan(['grant', 'u-1', flag])).toEqual({ isHelp: true })
  expect(adminHelp).toMatch(/^npm run admin -- grant\|revoke /)
})

test.each([
  [[], /^Nothing was changed: say grant or revoke/],
  [['grnat', 'u-1'], /^There is no argument 'grnat' before the user\. Did you mean 'grant'\?/],
  [['remove', 'u-1'], /Did you mean 'revoke'\?/],
  [['ada@x.example'], /^There is no argument 'ada@x\.example' before the user\.\n/],
  [['grant'], /^Whom to grant\?/],
  [['grant', 'u-1', 'u-2'], /^There is no argument 'u-2' after the user\.\n/],
  [['grant', 'u-1', '--project='], /^--project takes a value/],
  [['grant', 'u-1', '--project'], /^--project takes a value/],
  [['grant', 'u-1', '--projct', 'p'], /^There is no option '--projct'\. Did you mean '--project'\?/],
  [['--hlep'], /^There is no option '--hlep'\. Did you mean '--help'\?/],
])('%j is refused with what to do', (args, message) => {
  expect(() => adminPlan(args)).toThrow(message)
  expect(() => adminPlan(args)).toThrow(/\nnpm run admin -- --help says what there is\.$/)
})

test('a project that npm kept for itself is refused, for the change would go to the emulators', () => {
  expect(() => adminPlan(['grant', 'u-1'], { npm_config_project: 'my-project' })).toThrow(/write '--' before/)
})
