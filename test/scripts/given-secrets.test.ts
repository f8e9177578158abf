import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { secretVariables } from '../../scripts/toolchain/given-secrets.mjs'
import { PYTHON, withPython } from '../support/runner-environment.ts'

const SCRIPT = fileURLToPath(new URL('../../scripts/toolchain/given-secrets.mjs', import.meta.url))

/** Types a line into a terminal in which a program asks for a secret. Prints all that the terminal shows, and then the value. */
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

test('a variable has the value, and a secret without one is named in a sentence', async () => {
  const env = { TOOLRACK_SECRET_API_KEY: 'the value' }
  const program = { isTTY: false } as typeof process.stdin
  expect(await secretVariables(['API_KEY', 'API_KEY'], env, program)).toEqual(env)
  await expect(secretVariables(['API_KEY'], {}, program)).rejects.toThrow(
    'The secret API_KEY has no value: set TOOLRACK_SECRET_API_KEY, or run this in a terminal, which asks for the value.',
  )
})

/** What a terminal shows in which this is typed. */
function typed(text: string): string {
  const program = `
    const { secretVariables } = await import(${JSON.stringify(SCRIPT)})
    const read = await secretVariables(['API_KEY'], {}).catch((err) => err.message)
    console.log(JSON.stringify(read).length + ' ' + typeof read)`
  const args = ['-I', '-c', IN_TERMINAL, process.execPath, '--input-type=module', '-e', program]
  return spawnSync(PYTHON, args, { input: text, encoding: 'utf8' }).stdout.replaceAll('\r', '')
}

withPython('a terminal asks for the value and does not show it', async () => {
  const length = JSON.stringify({ TOOLRACK_SECRET_API_KEY: 'sk-canary-7f3' }).length
  expect(typed('sk-canary-7f3\r')).toBe(`API_KEY: \n${length} object\n`)
  expect(typed('sk-can\u0003')).toMatch(/^API_KEY: \n\d+ string\n$/)
  await Promise.resolve()
})
