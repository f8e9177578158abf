import { expect, test } from '@jest/globals'
import { existsSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeCheckout } from './support/checkout.ts'
import { until } from './support/until.ts'

const limitMs = 60_000
const exit = ['--exit=0']

/** The argument about Python that a start gives to the service, with a dot instead of the checkout's path. */
async function toldOf(
  checkout: ReturnType<typeof makeCheckout>,
  fakePython: Parameters<typeof checkout.run>[3],
) {
  const run = checkout.run('start.mjs', exit, 'works', fakePython)
  expect(await run.ended()).toBe(0)
  const [, told] = /^ready --chosen= --parent-pipe=3 (.*) --exit=0$/m.exec(run.output()) ?? []
  return told?.replaceAll(checkout.root, '.')
}

test(
  'a first start makes the environment from the lock by its hashes, and its programs name the interpreter where it is in the end; a second one starts no Python installer',
  async () => {
    using checkout = makeCheckout()
    expect(await toldOf(checkout, 'works')).toBe('--python=./python-runner/.venv/bin/python')
    const [make, install] = checkout.pythonCalls().map(({ line }) => line.replaceAll(checkout.root, '.'))
    expect(make).toBe('-I -m venv ./.toolrack/install/new/python-runner/.venv')
    expect(install).toMatch(
      /^-I -m pip install --require-hashes --only-binary=:all: .*-r .\/python-runner\/requirements\.txt$/,
    )
    const bin = join(checkout.root, 'python-runner/.venv/bin')
    expect(readFileSync(join(bin, 'program'), 'utf8')).toBe(`#!${bin}/python\n`)
    expect(await toldOf(checkout, 'works')).toBe('--python=./python-runner/.venv/bin/python')
    expect(checkout.pythonCalls()).toHaveLength(2)
  },
  limitMs,
)

test(
  'a changed lock, an interpreter that has gone, or another TOOLRACK_PYTHON makes the environment again, and the same one does not',
  async () => {
    using checkout = makeCheckout()
    await toldOf(checkout, 'works')
    writeFileSync(join(checkout.root, 'python-runner/requirements.txt'), 'changed')
    await toldOf(checkout, 'works')
    expect(checkout.pythonCalls()).toHaveLength(4)
    const interpreter = join(checkout.root, 'python-runner/.venv/bin/python')
    rmSync(interpreter)
    await toldOf(checkout, 'works')
    expect(checkout.pythonCalls()).toHaveLength(6)
    for (let starts = 1; starts <= 2; starts += 1) {
      const env = { TOOLRACK_PYTHON: checkout.otherPython }
      expect(await checkout.run('start.mjs', exit, 'works', 'works', env).ended()).toBe(0)
      expect(checkout.pythonCalls()).toHaveLength(8)
    }
    expect(realpathSync(interpreter)).toBe(realpathSync(checkout.otherPython))
  },
  limitMs,
)

test(
  "the operator's own lock is installed beside the runner's, by hashes too, and a change or removal of it makes the environment again",
  async () => {
    using checkout = makeCheckout()
    await toldOf(checkout, 'works')
    const added = join(checkout.root, 'python-runner/packages.txt')
    const installed = () => checkout.pythonCalls().at(-1)?.line.replaceAll(checkout.root, '.')
    for (const content of ['one', 'two']) {
      writeFileSync(added, content)
      await toldOf(checkout, 'works')
      expect(installed()).toMatch(
        /--require-hashes .*-r .\/python-runner\/requirements\.txt -r .\/python-runner\/packages\.txt$/,
      )
    }
    expect(checkout.pythonCalls()).toHaveLength(6)
    rmSync(added)
    await toldOf(checkout, 'works')
    expect(installed()).toMatch(/-r .\/python-runner\/requirements\.txt$/)
    expect(checkout.pythonCalls()).toHaveLength(8)
  },
  limitMs,
)

/** A start with an own lock that cannot be installed: its warning, and what the service is told about Python. */
async function startWithBroken(checkout: ReturnType<typeof makeCheckout>, lock: string) {
  writeFileSync(join(checkout.root, 'python-runner/packages.txt'), lock)
  const run = checkout.run('start.mjs', exit, 'works', 'fails with packages')
  expect(await run.ended()).toBe(0)
  const [, told] = /^ready --chosen= --parent-pipe=3 (.*) --exit=0$/m.exec(run.output()) ?? []
  const [warning] = /^WARNING: .*$/m.exec(run.output()) ?? []
  return { told: told?.replaceAll(checkout.root, '.'), warning }
}

const PYTHON = '--python=./python-runner/.venv/bin/python'
const BROKEN = 'six==1.17.0 \\\n    --hash=sha256:00\nhumanize==4.12.3 \\\n    --hash=sha256:00\n'
const LINE =
  'WARNING: python-runner/packages.txt, line 3 (humanize==4.12.3), cannot be installed. The packages from before are used. Correct this line, and make the lock again (docs/how-to/run.md), then start again.'

test(
  'packages.txt that cannot be installed keeps the environment that worked, and each start warns with the line',
  async () => {
    using checkout = makeCheckout()
    const environment = join(checkout.root, 'python-runner/.venv')
    const added = join(checkout.root, 'python-runner/packages.txt')
    writeFileSync(added, 'six==1.17.0 --hash=sha256:00\n')
    await toldOf(checkout, 'works')
    writeFileSync(join(environment, 'from before'), '')
    for (let starts = 1; starts <= 2; starts += 1)
      expect(await startWithBroken(checkout, BROKEN)).toEqual({ told: PYTHON, warning: LINE })
    expect(existsSync(join(environment, 'from before'))).toBe(true)
    // The broken lock is tried again at each start, and a corrected one is installed.
    writeFileSync(added, 'six==1.17.0 --hash=sha256:00\nhumanize==4.12.4 --hash=sha256:00\n')
    expect(await toldOf(checkout, 'works')).toBe(PYTHON)
    expect(existsSync(join(environment, 'from before'))).toBe(false)
    expect(readFileSync(join(environment, 'packages.txt'), 'utf8')).toContain('humanize==4.12.4')
  },
  limitMs,
)

test(
  'a first start over packages.txt that cannot be installed has the packages of the runner only',
  async () => {
    using checkout = makeCheckout()
    for (let starts = 1; starts <= 2; starts += 1)
      expect(await startWithBroken(checkout, BROKEN)).toEqual({
        told: PYTHON,
        warning: expect.stringMatching(
          /^WARNING: python-runner\/packages\.txt, line 3 \(humanize==4\.12\.3\), cannot be installed\. The Python runner has only its own packages, so /,
        ),
      })
    const made = checkout.pythonCalls().filter(({ line }) => line.startsWith('-I -m venv'))
    expect(made).toHaveLength(3)
  },
  limitMs,
)

test(
  'if the packages of the runner have changed too, the environment is made again with the packages from before',
  async () => {
    using checkout = makeCheckout()
    writeFileSync(join(checkout.root, 'python-runner/packages.txt'), 'six==1.17.0 --hash=sha256:00\n')
    await toldOf(checkout, 'works')
    writeFileSync(join(checkout.root, 'python-runner/requirements.txt'), 'changed')
    expect(await startWithBroken(checkout, BROKEN)).toEqual({ told: PYTHON, warning: LINE })
    const copy = readFileSync(join(checkout.root, 'python-runner/.venv/packages.txt'), 'utf8')
    expect(copy).toBe('six==1.17.0 --hash=sha256:00\n')
  },
  limitMs,
)

test.each([
  ['no venv', /^--no-python=\S+ cannot make a virtual environment: .*apt install python3-venv.*\.$/],
  ['old', /^--no-python=TOOLRACK_PYTHON must be .* 3\.11 or newer, and what it names is Python 3\.9\.2/],
  ['fails', /^--no-python=Could not install .*: pip has said why\. Run the command again/],
] as const)(
  'with a Python that has %s the service starts all the same and is told why in one sentence',
  async (fakePython, sentence) => {
    using checkout = makeCheckout()
    expect(await toldOf(checkout, fakePython)).toMatch(sentence)
    expect(existsSync(join(checkout.root, 'python-runner/.venv/.toolrack-stamp'))).toBe(false)
    expect(await toldOf(checkout, 'works')).toMatch(/^--python=/)
  },
  limitMs,
)

test(
  'an install that is interrupted ends the start, leaves nothing, and is done again by the next',
  async () => {
    using checkout = makeCheckout()
    const interrupted = checkout.run('start.mjs', [], 'works', 'hangs')
    await until(() => checkout.pythonCalls().length === 2)
    interrupted.child.kill('SIGTERM')
    expect(await interrupted.ended()).toBe(143)
    expect(interrupted.output()).toContain('Stopped while installing the Python runner')

    const environment = join(checkout.root, 'python-runner/.venv')
    expect(existsSync(environment)).toBe(false)
    await toldOf(checkout, 'works')
    expect(existsSync(join(environment, 'whole'))).toBe(true)
  },
  limitMs,
)

test(
  'two first starts at the same time make the environment once and both run',
  async () => {
    using checkout = makeCheckout()
    const runs = [checkout.run('start.mjs', exit), checkout.run('start.mjs', exit)]
    expect(await Promise.all(runs.map(async (run) => run.ended()))).toEqual([0, 0])
    expect(checkout.pythonCalls()).toHaveLength(2)
  },
  limitMs,
)
