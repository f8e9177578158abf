import { expect, test } from '@jest/globals'
import { grantsDigest } from '../../../../../packages/contract/src/grants.ts'
import { ToolrackError } from '../../../../../packages/contract/src/toolrack-error.ts'
import type { CheckReport } from '../../../../../functions/src/catalog/definitions/check-report.ts'
import type { ModuleCheck } from '../../../../../functions/src/catalog/definitions/runner.ts'
import { checkModule } from '../../../../../functions/src/hosts/local/author/check-module.ts'
import { reportLines } from '../../../../../functions/src/hosts/local/author/report-lines.ts'
import { checkedModule, readingRunner } from '../../../../support/reading-runner.ts'

const compilers = { own: { compile: () => Promise.resolve({ faults: [], unenforced: [] }) } }
const DIGEST = `sha256:${'1'.repeat(64)}` as const

/** The report of a runner on a module with one tool that asks for everything. */
function reportOf(bytes: number | null): CheckReport {
  const report = checkedModule('"tables:mean"')
  const [tool] = report.tools
  const packages = ['numpy', 'pandas'].map((name) => ({
    name,
    version: '2.0',
    file: `${name}-2.0-py3-none-any.whl`,
    sha256: '2'.repeat(64),
    bytes,
  }))
  return {
    ...report,
    tools: [
      { ...tool, network: ['api.example.com'], secrets: ['caller:API_KEY'] } as CheckReport['tools'][0],
    ],
    packages: {
      digest: DIGEST,
      requirements: ['pandas>=2'],
      python: '3.11',
      platform: 'linux-x86_64',
      packages,
    },
  }
}

/** The session of a command whose runner installs packages. */
function sessionOf(bytes: number | null, check: (module: ModuleCheck) => void = () => undefined) {
  const runner = {
    ...readingRunner(),
    check(module: ModuleCheck) {
      check(module)
      return Promise.resolve(reportOf(bytes))
    },
  }
  return { runner, compilers } as unknown as Parameters<typeof checkModule>[0]
}

const SOURCE = { name: 'tables', source: Buffer.from('') }

test('the lines about a module name its packages with their size, and its grants with their digest', async () => {
  const lines = reportLines(await checkModule(sessionOf(1_500_000), SOURCE))
  const grants = [
    { kind: 'network', value: 'api.example.com' },
    { kind: 'packages', value: 'pandas>=2' },
    { kind: 'secrets', value: 'caller:API_KEY' },
  ] as const
  expect(lines).toEqual([
    'tables.py: accepted, 1 tool',
    '  tables:mean()  (from the signature)',
    '  packages: numpy 2.0, pandas 2.0 (3.0 MB to download)',
    `    locked as ${DIGEST}`,
    `  grants, which a person accepts after the upload (${grantsDigest(grants)}):`,
    '    network   api.example.com',
    '    packages  pandas>=2',
    '    secrets   caller:API_KEY (of the user who calls)',
  ])
})

test('if the index does not say the size of a wheel, no size is stated', async () => {
  const lines = reportLines(await checkModule(sessionOf(null), SOURCE))
  expect(lines).toContain('  packages: numpy 2.0, pandas 2.0')
})

test('a module that asks for nothing has no lines about packages and grants', async () => {
  const session = { runner: readingRunner(), compilers } as unknown as Parameters<typeof checkModule>[0]
  const lines = reportLines(
    await checkModule(session, { name: 'tables', source: Buffer.from('"tables:mean"') }),
  )
  expect(lines).toEqual(['tables.py: accepted, 1 tool', '  tables:mean()  (from the signature)'])
})

test.each([
  ['PACKAGES_REFUSED', 'refused'],
  ['PACKAGES_UNAVAILABLE', 'not checked'],
] as const)('a module whose check ends with %s is %s', async (code, how) => {
  const session = sessionOf(1, () => {
    throw new ToolrackError(code, 'Why it ended.')
  })
  expect(reportLines(await checkModule(session, SOURCE))).toEqual([`tables.py: ${how}`, '    Why it ended.'])
})

test('what the runner says while it installs packages is passed on', async () => {
  const said: string[] = []
  const session = sessionOf(1, (module) => module.onProgress?.('pandas 3.1.1: 20 of 40 MB'))
  await checkModule(session, SOURCE, (text) => said.push(text))
  expect(said).toEqual(['pandas 3.1.1: 20 of 40 MB'])
})
