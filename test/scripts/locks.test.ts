import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { workspacesOf } from '../../scripts/toolchain/npm.mjs'
import { ROOT } from '../support/source-tree.ts'

type Dependencies = Readonly<Record<string, string>>
type Manifest = { readonly dependencies?: Dependencies; readonly devDependencies?: Dependencies }
type Lock = { readonly packages: Readonly<Record<string, Manifest & { readonly version?: string }>> }

function read(path: string): string {
  return readFileSync(new URL(path, ROOT), 'utf8')
}

function dependenciesOf({ dependencies = {}, devDependencies = {} }: Manifest = {}) {
  return { dependencies, devDependencies }
}

test.each(workspacesOf(fileURLToPath(ROOT)))(
  'package-lock.json says what the manifest of "%s" says',
  (workspace) => {
    const lock = JSON.parse(read('package-lock.json')) as Lock
    const manifest = JSON.parse(read(`${workspace === '' ? '' : `${workspace}/`}package.json`)) as Manifest
    expect(dependenciesOf(lock.packages[workspace])).toEqual(dependenciesOf(manifest))
  },
)

test('the deploy lock installs exactly what the deploy manifest says', () => {
  const { packages } = JSON.parse(read('functions/package-lock.json')) as Lock
  const manifest = JSON.parse(read('functions/package.json')) as Manifest
  expect(dependenciesOf(packages[''])).toEqual(dependenciesOf(manifest))
  const versions = Object.keys(manifest.dependencies ?? {}).map((name) => [
    name,
    packages[`node_modules/${name}`]?.version,
  ])
  expect(Object.fromEntries(versions)).toEqual(manifest.dependencies)
})

/** The packages that a list or a lock names itself, with their exact versions. */
function pinnedIn(name: string): Readonly<Record<string, string>> {
  const lines = read(`python-runner/${name}`).match(/^[a-z].*$/gm) ?? []
  return Object.fromEntries(
    lines.map((line) => /^([a-z0-9._-]+)(?:==([^\s;\\]+))?/.exec(line)?.slice(1) ?? []),
  )
}

test('the locks of the Python environment are what their lists ask for', () => {
  const [runtime, full] = [pinnedIn('requirements.txt'), pinnedIn('requirements-dev.txt')]
  expect(runtime).toMatchObject(pinnedIn('requirements.in'))
  expect(full).toMatchObject({ ...runtime, ...pinnedIn('requirements-dev.in') })
  expect(Object.keys(runtime).length).toBeGreaterThan(Object.keys(pinnedIn('requirements.in')).length)
})

test.each(['requirements.txt', 'requirements-dev.txt', '../test/python-runner/packages/packages.txt'])(
  '%s names no registry',
  (name) => {
    expect(read(`python-runner/${name}`)).not.toMatch(
      /https?:|--(?:extra-)?index|--find-links|--trusted-host/,
    )
  },
)
