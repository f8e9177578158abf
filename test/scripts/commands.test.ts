import { afterAll, describe, expect, test } from '@jest/globals'
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { EXIT } from '../../functions/src/hosts/local/start-error.ts'
import { usageCode } from '../../scripts/toolchain/arguments.mjs'
import { ROOT } from '../support/source-tree.ts'
import { makeCheckout } from './support/checkout.ts'

const manifest = JSON.parse(readFileSync(new URL('package.json', ROOT), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>
}
const commands = Object.entries(manifest.scripts)
const limitMs = 60_000

/** The checkout of all commands, which none of them may change. */
const checkout = makeCheckout()
afterAll(() => checkout[Symbol.dispose]())

/** Runs a command of package.json in a small checkout, and makes sure that it installed and started nothing. */
async function run(line: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const [program, script = '', ...fixed] = line.split(' ')
  expect([program, script]).toEqual(['node', expect.stringMatching(/^scripts\/[a-z-]+\.mjs$/)])
  const run = checkout.run(basename(script), [...fixed, ...args], 'works', 'works', env)
  const code = await run.ended()
  expect([checkout.npmCalls(), checkout.pythonCalls()]).toEqual([[], []])
  expect(existsSync(join(checkout.root, '.toolrack'))).toBe(false)
  return { code, said: run.output() }
}

describe.each(commands)('npm run %s', (name, line) => {
  const call = new RegExp(`^npm (?:run )?${name} -- `, 'm')

  test(
    '--help prints how it is called, and does nothing',
    async () => {
      const { code, said } = await run(line, ['--help'])
      expect(said).toMatch(call)
      expect(said).toMatch(/^ {2}-h, --help +\S/m)
      expect(code).toBe(0)
    },
    limitMs,
  )

  test(
    'a mistyped option is refused with the one that was meant and code 2, and nothing is done',
    async () => {
      const { code, said } = await run(line, ['--hlep'])
      expect(said).toContain("There is no option '--hlep'. Did you mean '--help'?\n")
      expect(said).toMatch(call)
      expect(said).not.toContain('    at ')
      expect(code).toBe(usageCode)
    },
    limitMs,
  )

  test('CONTRIBUTING.md names it', () => {
    const text = readFileSync(fileURLToPath(new URL('CONTRIBUTING.md', ROOT)), 'utf8')
    expect(text).toMatch(new RegExp(`^\\| \`npm (?:run )?${name}(?: -- [^\`]*)?\` \\|`, 'm'))
  })
})

test('the exit code of wrong arguments has one value', () => {
  expect(usageCode).toBe(EXIT.usage)
})

test.each([
  ['start', ['--prot', '9405'], "There is no option '--prot'. Did you mean '--port'?"],
  ['start', ['9405'], "There is no argument '9405'."],
  ['start', ['--port', '65536'], '--port takes a whole number from 0 to 65535.'],
  ['start', ['--port', '--host', '::1'], '--port takes a whole number from 0 to 65535.'],
  ['start', ['--data='], '--data takes a value: FOLDER.'],
  ['deploy', ['dry-run'], "There is no argument 'dry-run'. Did you mean '--dry-run'?"],
  ['deploy', ['--dry-run=yes'], '--dry-run takes no value.'],
  ['deploy', ['--project', 'demo-toolrack'], "The project 'demo-toolrack' exists in emulators only."],
  ['bench', ['lits'], "There is no case 'lits'. Did you mean 'list'?"],
  ['bench', ['--rounds', '0', 'list'], '--rounds takes a whole number from 1 to 9999.'],
  ['seed', ['one', 'two'], "There is no argument 'two'."],
  ['seed', ['--project', 'one', '--project', 'two'], '--project is there more than once.'],
  ...(['deploy', 'seed', 'admin', 'import'] as const).map(
    (name) => [name, ['--project=--dry-run'], '--project takes a project id, such as my-project.'] as const,
  ),
  ['seed', [''], 'An argument is empty: a variable in the command may have no value.'],
  ['validate', ['one', 'two'], "There is no argument 'two'."],
  ['tool', [], 'Say check, call or new, and name the file.'],
  ['tool', ['chekc', 'a.py'], "There is no action 'chekc'. Did you mean 'check'?"],
  ['tool', ['check'], 'Name the file to check, such as weather.py.'],
  ['tool', ['check', 'a.py', 'b.py'], "check takes one file. There is no argument 'b.py'."],
  ['tool', ['new', 'a.py', '--json'], "new has no option '--json'."],
  ['tool', ['check', 'a.py', '--timeout', '3'], "check has no option '--timeout'."],
  ['tool', ['check', 'a.py', '--secret', 'KEY'], "check has no option '--secret'."],
  ['tool', ['check', 'a.py', '--packages', 'pandas'], "check has no option '--packages'."],
  [
    'tool',
    ['call', 'a.py', '--secret', 'key=value'],
    '--secret takes the name of a secret: capital letters, digits and _, such as API_KEY.',
  ],
  [
    'tool',
    ['call', 'a.py', '--timeout', '0'],
    '--timeout takes a number of seconds above 0, and at most 3600.',
  ],
  ['packages', [], 'Say add or remove and the names of packages, or list or upgrade.'],
  ['packages', ['add'], 'Name the packages to add, such as pandas.'],
  ['packages', ['upgrade', 'pandas'], "upgrade takes no names. There is no argument 'pandas'."],
  [
    'packages',
    ['add', 'x @ git+https://a.example/x'],
    "'x @ git+https://a.example/x' is no package: give a name, perhaps with versions in quotes, such as pandas or 'pandas>=2'. URLs and paths are not taken.",
  ],
  ['admin', [], 'Say grant or revoke, and name the user. Nothing was changed.'],
  ['admin', ['grant'], 'Name the user to grant, by uid or mail. Nothing was changed.'],
  ['admin', ['grnat', 'u-1'], "There is no action 'grnat'. Did you mean 'grant'?"],
  ['admin', ['grant', 'u-1', 'u-2'], "There is no argument 'u-2'."],
  ['import', ['--dry-run'], 'Say where the documents are: npm run import -- --from-firestore'],
] as const)(
  'npm run %s -- %j is refused with a sentence, before anything is done',
  async (name, args, sentence) => {
    const { code, said } = await run(manifest.scripts[name] ?? '', args)
    expect(said).toContain(`${sentence}\n`)
    expect(code).toBe(2)
  },
  limitMs,
)

test(
  'arguments that no program can be started with are refused with the way out',
  async () => {
    const text = `text=${'"'.repeat(70_000)}`
    const { code, said } = await run(manifest.scripts['tool'] ?? '', ['call', 'a.py', text])
    expect(said).toContain('Put a long value into a file, and write key=@FILE.\n')
    expect(code).toBe(2)
  },
  limitMs,
)

test.each([
  ['deploy', [], { npm_config_dry_run: 'true' }, 'npm run deploy -- --dry-run'],
  ['start', ['9405'], { npm_config_port: 'true' }, 'npm start -- --port NUMBER'],
  ['test', ['lists'], { npm_config_testnamepattern: 'true' }, 'npm test -- --testNamePattern PATTERN'],
  ['test', [], { npm_config_runinband: 'true' }, 'npm test -- --runInBand'],
  ['test', ['lists'], { npm_config_t: 'true' }, 'npm test -- -t PATTERN'],
  ['test', ['lists'], { npm_config_k: 'true' }, 'npm test -- -k EXPRESSION'],
] as const)(
  'npm run %s %j with an option that npm took for itself is refused: npm run deploy --dry-run would deploy',
  async (name, args, env, example) => {
    const { code, said } = await run(manifest.scripts[name] ?? '', args, env)
    expect(said).toMatch(/^npm keeps '--?[A-Za-z-]+' for itself: write '--' before it, as in /)
    expect(said).toContain(`as in ${example}\n`)
    expect(code).toBe(2)
  },
  limitMs,
)

test.each([
  ['seed', []],
  ['build', []],
  ['admin', ['grant', 'u-1']],
] as const)(
  'npm run %s %j --dry-run is refused, because the command would do it',
  async (name, args) => {
    const { code, said } = await run(manifest.scripts[name] ?? '', args, { npm_config_dry_run: 'true' })
    expect(said).toContain("npm keeps '--dry-run' for itself, and this command has no such option.")
    expect(code).toBe(2)
  },
  limitMs,
)
