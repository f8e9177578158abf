import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { fingerprint, writeStamp } from '../../scripts/toolchain/install.mjs'
import { nodePackages, pinnedNode } from '../../scripts/toolchain/pinned-node.mjs'

const manifestPath = new URL('../../scripts/node/package.json', import.meta.url)
const name = nodePackages[`${process.platform}-${process.arch}`] ?? 'none'

let root = ''

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'toolrack-node-'))
})

afterEach(() => {
  rmSync(root, { recursive: true })
})

/** A pinned Node that is installed, or one that was removed because it cannot run here. */
function pin(version: string, { runs } = { runs: true }): void {
  const folder = join(root, 'scripts/node')
  const lockPath = join(folder, 'package-lock.json')
  mkdirSync(join(folder, 'node_modules', name, 'bin'), { recursive: true })
  if (runs)
    for (const file of ['node', 'node.exe'])
      writeFileSync(join(folder, 'node_modules', name, 'bin', file), '')
  writeFileSync(lockPath, JSON.stringify({ packages: { [`node_modules/${name}`]: { version } } }))
  writeStamp(join(folder, 'node_modules'), fingerprint([lockPath]))
}

test('every platform we name is pinned, and nothing else is', () => {
  const manifest: { optionalDependencies: object } = JSON.parse(readFileSync(manifestPath, 'utf8'))
  expect(Object.values(nodePackages).toSorted()).toEqual(
    Object.keys(manifest.optionalDependencies).toSorted(),
  )
})

test('the pinned Node is used even when the running one would do', async () => {
  pin('24.21.0')
  expect(await pinnedNode(root, { running: '26.1.0' })).toContain(name)
})

test.each([
  ['is not there for the platform', '24.21.0', true, 'sunos'],
  ['cannot run on the machine', '24.21.0', false, process.platform],
])(
  'when the pinned Node %s, the running one is used if it is new enough, else it is an error',
  async (_why, version, runs, platform) => {
    pin(version, { runs })
    expect(await pinnedNode(root, { running: '24.9.0', platform })).toBe(process.execPath)
    await expect(pinnedNode(root, { running: '24.8.0', platform })).rejects.toThrow(
      /needs Node 24\.9 or newer here/,
    )
    await expect(pinnedNode(root, { running: '20.20.2', platform })).rejects.toThrow(/this is Node 20\.20\.2/)
  },
)

test('a pinned Node that is older than we want gives way to a running one that is not', async () => {
  pin('24.0.0')
  expect(await pinnedNode(root, { running: '24.9.0' })).toBe(process.execPath)
  expect(await pinnedNode(root, { running: '20.20.2' })).toContain(name)
})
