import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { givenSecrets, secretsFor } from '../../../../../functions/src/hosts/local/author/given-secrets.ts'
import { EXIT } from '../../../../../functions/src/hosts/local/start-error.ts'
import { PYTHON, withPython } from '../../../../support/runner-environment.ts'

function toolWith(...secrets: readonly string[]): Parameters<typeof secretsFor>[0] {
  return {
    definition: {
      type: 'function',
      function: { name: 'mail:send', description: '', parameters: {} },
      runner: { kind: 'python', module: 'mail', sha256: 'a'.repeat(64), secrets },
    },
  }
}

const VALUES = { API_KEY: 'key-of-eight', SHORT: 'seven..' }
const given = (...names: (keyof typeof VALUES)[]) => new Map(names.map((name) => [name, VALUES[name]]))

test('a tool gets exactly the secrets that its spec names, its own and those of the caller', () => {
  expect([...secretsFor(toolWith('API_KEY'), given('API_KEY'))]).toEqual([['API_KEY', 'key-of-eight']])
  expect([...secretsFor(toolWith('caller:API_KEY'), given('API_KEY'))]).toEqual([['API_KEY', 'key-of-eight']])
  expect([...secretsFor(toolWith(), given())]).toEqual([])
})

test.each([
  [
    ['API_KEY'],
    given(),
    'mail:send needs the secret API_KEY: add --secret API_KEY, and set TOOLRACK_SECRET_API_KEY.',
  ],
  [[], given('API_KEY'), 'mail:send names no secret API_KEY in its spec, so it gets none.'],
  [['SHORT'], given('SHORT'), 'The secret SHORT is too short: a secret has at least 8 bytes.'],
])('a tool with the secrets %j and other ones in the command is a sentence', (named, values, said) => {
  expect(() => secretsFor(toolWith(...named), values)).toThrow(
    expect.objectContaining({ message: said, exitCode: EXIT.usage }),
  )
})

test('a variable has the value, and a secret without one is named in a sentence', async () => {
  const program = { isTTY: false } as typeof process.stdin
  const env = { TOOLRACK_SECRET_API_KEY: 'the value' }
  expect([...(await givenSecrets(['API_KEY', 'API_KEY'], env, program))]).toEqual([['API_KEY', 'the value']])
  await expect(givenSecrets(['API_KEY'], {}, program)).rejects.toMatchObject({
    message:
      'The secret API_KEY has no value: set TOOLRACK_SECRET_API_KEY, or run this in a terminal, which asks for the value.',
    exitCode: EXIT.usage,
  })
})

const PROGRAM = fileURLToPath(
  new URL('../../../../../functions/src/hosts/local/author/given-secrets.ts', import.meta.url),
)

/** Types a line into a terminal in which a program asks for a secret. Prints all that the terminal shows. */
const IN_TERMINAL = `
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
shown = b""
while b"API_KEY: " not in shown:
    shown += os.read(terminal, 1024)
os.write(terminal, sys.stdin.buffer.read())
try:
    while chunk := os.read(terminal, 1024):
        shown += chunk
except OSError:
    pass
sys.stdout.buffer.write(shown)
`

/** What a terminal shows in which this is typed. */
function typed(text: string): string {
  const program = `
    const { givenSecrets } = await import(${JSON.stringify(PROGRAM)})
    console.log(await givenSecrets(['API_KEY'], {}).then((map) => String(map.get('API_KEY').length), (err) => err.message))`
  const node = [process.execPath, '--no-warnings', '--input-type=module', '-e', program]
  const { stdout } = spawnSync(PYTHON, ['-I', '-c', IN_TERMINAL, ...node], { input: text, encoding: 'utf8' })
  return stdout.replaceAll('\r', '')
}

withPython('a terminal asks for the value and does not show it', async () => {
  expect(typed('sk-canary-7f3\r')).toBe('API_KEY: \n13\n')
  expect(typed('sk-can\u0003')).toMatch(/^API_KEY: \nThe secret API_KEY has no value/)
  await Promise.resolve()
})
