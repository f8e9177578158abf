import { expect, test } from '@jest/globals'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fuzzPlan, fuzzProgram } from '../../scripts/toolchain/fuzz-plan.mjs'
import { ROOT } from '../support/source-tree.ts'

const EVERY_KIND = ['syscalls', 'messages', 'routes', 'schemas']

test('without arguments every kind runs for 60 s with a seed of its own', () => {
  const plan = fuzzPlan([])
  expect(plan.kinds).toEqual(EVERY_KIND)
  expect(plan.options.seconds).toBe('60')
  expect(plan.options.seed).not.toBe(fuzzPlan([]).options.seed)
})

test('kinds, seconds and a seed are taken as they are given, in any order', () => {
  expect(fuzzPlan(['--seed', '7', 'messages', '--seconds', '1800', 'syscalls', 'messages'])).toEqual({
    kinds: ['messages', 'syscalls'],
    options: { seconds: '1800', seed: '7' },
  })
})

test.each([
  [['rotes'], /There is no kind 'rotes'\. Did you mean 'routes'\?/],
  [['--seconds', '0'], /--seconds takes a number above 0/],
  [['--seconds'], /--seconds takes a number above 0/],
  [['--seed', 'x'], /--seed takes a whole number/],
  [['--case', '{}'], /--case belongs to one kind/],
])('%j is refused with what to do', (args, message) => {
  expect(() => fuzzPlan(args)).toThrow(message)
})

test('--help names every kind', () => {
  for (const kind of EVERY_KIND) expect(() => fuzzPlan(['syscalls', '--help'])).toThrow(kind)
})

test('the programs of the Python kinds are there, and are told everything', () => {
  const root = fileURLToPath(ROOT)
  for (const kind of ['syscalls', 'messages']) {
    const program = fuzzProgram(root, kind, { seconds: '5', seed: '1', case: '{}' })
    expect(program.isPython).toBe(true)
    expect(existsSync(join(program.cwd, `fuzz/${kind}.py`))).toBe(true)
    expect(program.args).toEqual([
      '-P',
      '-m',
      `fuzz.${kind}`,
      '--seconds',
      '5',
      '--seed',
      '1',
      '--case',
      '{}',
    ])
  }
})
