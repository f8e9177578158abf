import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { importsOf, readSource, ROOT } from '../support/source-tree.ts'
import type { SourceTree } from '../support/source-tree.ts'

type Manifest = {
  readonly [section: string]: unknown
  readonly dependencies?: Readonly<Record<string, string>>
}

/** What is wrong with a deploy manifest, for the source that it goes with. */
function manifestFaults({ dependencies = {}, ...rest }: Manifest, source: SourceTree): string[] {
  const listed = Object.keys(dependencies)
  const imported = [...source]
    .flatMap(([path, text]) => importsOf(path, text))
    .filter((what) => what.startsWith('npm:'))
  const used = new Set(imported.map((what) => what.slice('npm:'.length)))
  return [
    ...listed
      .filter((name) => !/^\d+\.\d+\.\d+$/.test(dependencies[name] ?? ''))
      .map((name) => `${name} has no exact version`),
    ...listed.filter((name) => name.startsWith('@toolrack/')).map((name) => `${name} is a workspace`),
    ...listed.filter((name) => !used.has(name)).map((name) => `${name} is never imported`),
    ...[...used].filter((name) => !listed.includes(name)).map((name) => `${name} is not listed`),
    ...['devDependencies', 'optionalDependencies', 'peerDependencies', 'scripts']
      .filter((section) => section in rest)
      .map((section) => `${section} has no place`),
  ].toSorted()
}

function manifest(folder: string): Manifest {
  return JSON.parse(readFileSync(new URL(`${folder}package.json`, ROOT), 'utf8')) as Manifest
}

test('the deploy manifest lists exactly what the service imports, in exact versions, and no workspace', () => {
  expect(manifestFaults(manifest('functions/'), readSource('functions/src'))).toEqual([])
})

test('the check finds everything that can be wrong with a manifest', () => {
  const source = new Map([
    ['functions/src/a.ts', "import a from 'ajv/dist/2020.js'\nimport type { E } from 'express'\n"],
  ])
  const broken = {
    dependencies: { ajv: '^8.20.0', zod: '4.0.0', '@toolrack/contract': '0.1.0' },
    devDependencies: {},
  }
  expect(manifestFaults(broken, source)).toEqual([
    '@toolrack/contract is a workspace',
    '@toolrack/contract is never imported',
    'ajv has no exact version',
    'devDependencies has no place',
    'express is not listed',
    'zod is never imported',
  ])
})

test.each(['', 'packages/contract/', 'packages/client/'])(
  '%spackage.json has no dependency at run time',
  (folder) => {
    expect(manifest(folder).dependencies).toBeUndefined()
  },
)

test.each(['', 'functions/', 'packages/contract/'])('every version in %spackage.json is exact', (folder) => {
  const { dependencies = {}, devDependencies = {} } = manifest(folder) as Record<
    string,
    Record<string, string>
  >
  const versions = Object.entries({ ...dependencies, ...devDependencies })
  expect(versions.filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([])
})
