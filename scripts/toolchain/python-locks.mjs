import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const pairs = [
  ['requirements.in', 'requirements.txt'],
  ['requirements-dev.in', 'requirements-dev.txt'],
]

/**
 * What is wrong with the locks of the Python environment, found without a network: each must pin what the list beside it
 * asks for, every package by hashes, from no registry by name; and what the tests run on must be what the runner runs on.
 */
export function pythonLockProblems(root) {
  const read = (name) => readFileSync(join(root, 'python-runner', name), 'utf8')
  const [runtime, full] = pairs.map(([, lock]) => parseLock(read(lock)))
  const different = [...runtime].filter(([name, { pin }]) => full.get(name)?.pin !== pin)
  return [
    ...pairs.flatMap(([list, lock]) => problems(lock, parseList(read(list)), read(lock))),
    ...different.map(([name]) => `requirements-dev.txt: ${name} is not that of requirements.txt`),
  ].map((problem) => `python-runner/${problem}`)
}

function problems(lock, wanted, text) {
  const locked = parseLock(text)
  const wrong = wanted.filter(({ name, pin }) => locked.get(name)?.pin !== pin)
  const unhashed = [...locked].filter(([, { hashes }]) => hashes === 0)
  return [
    ...wrong.map(({ name, pin }) => `${lock}: ${name} is not locked as ${pin}`),
    ...unhashed.map(([name]) => `${lock}: ${name} has no hash`),
    ...(/https?:|--(?:extra-)?index|--find-links|--trusted-host/.test(text)
      ? [`${lock}: names a registry`]
      : []),
  ]
}

/** The packages that a list asks for itself: `name==1.2.3`, with a marker or without. */
function parseList(text) {
  return text
    .split('\n')
    .filter((line) => /^[a-z]/.test(line))
    .map((line) => parseRequirement(line))
}

function parseLock(text) {
  const entries = text.split(/\n(?=[a-z])/).filter((entry) => /^[a-z]/.test(entry))
  return new Map(
    entries.map((entry) => {
      const { name, pin } = parseRequirement(entry)
      return [name, { pin, hashes: entry.match(/--hash=sha256:[0-9a-f]{64}/g)?.length ?? 0 }]
    }),
  )
}

function parseRequirement(text) {
  const [, name = text, pin = 'not exactly'] = /^([a-z0-9._-]+)==([^\s;\\]+)/.exec(text) ?? []
  return { name, pin }
}
