import { expect, test } from '@jest/globals'
import { secretsFor } from '../../../../../functions/src/hosts/local/author/given-secrets.ts'
import { EXIT } from '../../../../../functions/src/hosts/local/start-error.ts'

function toolWith(...secrets: readonly string[]): Parameters<typeof secretsFor>[0] {
  return {
    definition: {
      type: 'function',
      function: { name: 'mail:send', description: '', parameters: {} },
      runner: { kind: 'python', module: 'mail', sha256: 'a'.repeat(64), secrets },
    },
  }
}

const ENV = { TOOLRACK_SECRET_API_KEY: 'key-of-eight', TOOLRACK_SECRET_SHORT: 'seven..' }

test('a tool gets exactly the secrets that its spec names, its own and those of the caller', () => {
  expect([...secretsFor(toolWith('API_KEY'), ['API_KEY'], ENV)]).toEqual([['API_KEY', 'key-of-eight']])
  expect([...secretsFor(toolWith('caller:API_KEY'), ['API_KEY'], ENV)]).toEqual([['API_KEY', 'key-of-eight']])
  expect([...secretsFor(toolWith(), [], ENV)]).toEqual([])
})

test.each([
  [
    ['API_KEY'],
    [],
    'mail:send needs the secret API_KEY: add --secret API_KEY, and set TOOLRACK_SECRET_API_KEY.',
  ],
  [[], ['API_KEY'], 'mail:send names no secret API_KEY in its spec, so it gets none.'],
  [['SHORT'], ['SHORT'], 'The secret SHORT is too short: a secret has at least 8 bytes.'],
])(
  'a tool with the secrets %j and a command with %j is a sentence, without a value',
  (named, given, said) => {
    expect(() => secretsFor(toolWith(...named), given, ENV)).toThrow(
      expect.objectContaining({ message: said, exitCode: EXIT.usage }),
    )
  },
)
