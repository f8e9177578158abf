import { expect, test } from '@jest/globals'
import { readdirSync, readFileSync } from 'node:fs'
import { demoProject } from '../../scripts/toolchain/emulators.mjs'
import { readSource, ROOT } from '../support/source-tree.ts'

type Config = {
  readonly functions: readonly {
    readonly codebase: string
    readonly runtime: string
    readonly ignore: readonly string[]
  }[]
  readonly hosting: {
    readonly rewrites: readonly { source: string; function: { functionId: string } }[]
  }
  readonly emulators: Readonly<Record<string, { readonly port?: number; readonly websocketPort?: number }>>
}

const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8')
const config = JSON.parse(read('firebase.json')) as Config

function to(source: string, functionId: string) {
  return { source, function: { functionId } }
}

test('Hosting sends every path of the service to the function that serves it, in whatever region it is', () => {
  expect(config.hosting.rewrites).toEqual([
    to('/workflows/**', 'workflows'),
    to('/jobs/**', 'jobs'),
    to('/agents', 'workflows'),
    to('/agents/**', 'workflows'),
    to('/api/**', 'workflows'),
    to('/health', 'workflows'),
    to('/', 'workflows'),
  ])
})

test('no file of Hosting replaces the front page, which a function serves', () => {
  expect(readdirSync(new URL('hosting', ROOT))).not.toContain('index.html')
})

test('the functions run on the Node of their manifest', () => {
  const { engines } = JSON.parse(read('functions/package.json')) as { engines: { node: string } }
  expect(config.functions.map(({ runtime }) => runtime)).toEqual([`nodejs${engines.node}`])
})

test('what is no part of a deployment is not uploaded', () => {
  const [ignore] = config.functions.map((codebase) => codebase.ignore)
  const wanted = [
    'node_modules',
    '.git',
    'src',
    'test',
    'coverage',
    '*.log',
    '*.map',
    '*.local',
    '.env.demo-*',
  ]
  expect(ignore).toEqual(expect.arrayContaining(wanted))
})

test('a plain firebase deploy deploys what npm run deploy does, and plain emulators run in a project that is in no cloud', () => {
  expect(Object.keys(config)).toEqual(['functions', 'hosting', 'firestore', 'emulators'])
  expect(config.functions.map(({ codebase }) => codebase)).toEqual(['toolrack'])
  expect(JSON.parse(read('.firebaserc'))).toEqual({ projects: { default: demoProject } })
})

test('no two emulators share a port', () => {
  const ports = Object.values(config.emulators).flatMap(({ port, websocketPort }) => [port, websocketPort])
  const given = ports.filter((port) => port !== undefined)
  expect(given.length).toBeGreaterThanOrEqual(7)
  expect(new Set(given).size).toBe(given.length)
})

test('the fields that the store asks by keep their indexes, and the others need none', () => {
  type Override = {
    readonly collectionGroup: string
    readonly fieldPath: string
    readonly indexes: readonly unknown[]
  }
  type Index = { readonly collectionGroup: string; readonly fields: readonly unknown[] }
  const { fieldOverrides, indexes } = JSON.parse(read('firestore.indexes.json')) as {
    fieldOverrides: readonly Override[]
    indexes: readonly Index[]
  }
  const asked = [...readSource('functions/src/stores/firestore').values()].flatMap((text) =>
    [...text.matchAll(/\.(?:where|orderBy|sum)\('([^']+)'/g)].map(([, field]) => field),
  )
  // `oldest`, `deletedAt`, `expiresAt`, `bodyAt`, `listedBy` and `created` are asked for by a parameter of the query.
  const filters = ['tool', 'outcome', 'code', 'workflow']
  const ofRecords = ['uid', 'place', 'day', 'instance', 'kind']
  const ofLogs = new Set(['bytes', 'at', '__name__', 'expiresAt', ...filters])
  expect(new Set(asked)).toEqual(new Set(['listedAs', 'revision', 'textHash', ...ofRecords, ...ofLogs]))
  // Each filter of a page of calls needs an index together with the order of the page.
  const ofCalls = indexes.filter(({ collectionGroup }) => collectionGroup === 'logs')
  expect(ofCalls.map(({ fields }) => fields)).toEqual(
    filters.map((fieldPath) => [
      { fieldPath, order: 'ASCENDING' },
      { fieldPath: 'at', order: 'DESCENDING' },
    ]),
  )
  const kept = new Set([...asked.filter((field) => field && !ofLogs.has(field)), 'oldest', 'deletedAt'])
  expect(fieldOverrides.filter(({ fieldPath }) => kept.has(fieldPath))).toEqual([])
  const indexed = fieldOverrides.filter(({ indexes }) => indexes.length > 0)
  expect(indexed.map(({ collectionGroup, fieldPath }) => [collectionGroup, fieldPath])).toEqual([
    ['logs', 'expiresAt'],
    ['logs', 'bytes'],
    ['kept', 'expiresAt'],
    ['kept', 'bytes'],
    ['kept', 'bodyAt'],
    ['kept', 'listedBy'],
    ['logs', 'at'],
  ])
})
