import { afterAll, beforeAll, describe, expect, jest } from '@jest/globals'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { PackageLock } from '../../functions/src/catalog/definitions/package-lock.ts'
import { invoked } from '../support/invocation.ts'
import { sharedServerWithRunner, upload } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import { ROOT } from '../support/source-tree.ts'
import { moduleNameOf, moduleUsing, USED_PACKAGES, type UsedPackage } from '../support/used-packages.ts'

const CALLS = 20

// The first run downloads up to 100 MB for a package.
jest.setTimeout(300_000)

/** The environments stay between runs, so that only the first run downloads all packages. */
const FOLDER = fileURLToPath(new URL('node_modules/.cache/toolrack-packages', ROOT))

const started = sharedServerWithRunner({
  env: {
    TOOLRACK_GRANTS: 'accept',
    TOOLRACK_PACKAGES: 'on',
    TOOLRACK_PACKAGES_DIR: FOLDER,
    // All environments of this suite, so that none is removed.
    TOOLRACK_PACKAGES_COUNT: String(USED_PACKAGES.length * 2),
  },
})

type Row = {
  readonly name: string
  readonly version: string
  readonly packages: number
  readonly installSeconds: number
  readonly megabytes: number
  readonly importMs: number
  readonly answers: number
}

const rows: Row[] = []
let wasKept = false
beforeAll(() => {
  wasKept = bytesBelow(FOLDER) > 0
})
afterAll(() => {
  process.stdout.write(tableOf(rows, wasKept))
})

describe('the packages that authors use most', () => {
  for (const used of USED_PACKAGES)
    withPython(`a module with ${used.name} is accepted, and ${CALLS} calls answer`, async () => {
      rows.push(await tried(used))
    })
})

async function tried(used: UsedPackage): Promise<Row> {
  const server = await started()
  const module = moduleNameOf(used)
  const startedMs = performance.now()
  const answer = await upload(server, module, moduleUsing(used))
  const installSeconds = (performance.now() - startedMs) / 1_000
  const { report } = (await answer.json()) as { readonly report?: { readonly packages?: PackageLock } }
  expect({ status: answer.status, report }).toMatchObject({ status: 201, report: { packages: {} } })
  const { digest = '', packages = [] } = report?.packages ?? {}
  const importsMs: number[] = []
  for (let call = 1; call <= CALLS; call += 1) {
    const [status, result] = await invoked(server, `${module}:run`)
    expect([call, status, result]).toMatchObject([call, 200, { data: { value: used.value } }])
    const { data } = result as { readonly data?: { readonly importMs: number } }
    importsMs.push(data?.importMs ?? 0)
  }
  return {
    name: used.name,
    version: packages.find(({ name }) => name === used.name)?.version ?? '?',
    packages: packages.length,
    installSeconds,
    megabytes: bytesBelow(folderOf(digest)) / 1_000_000,
    importMs: importsMs.toSorted((a, b) => a - b)[Math.floor(CALLS / 2)] ?? 0,
    answers: importsMs.length,
  }
}

/** The folder of an environment, whose name is its digest. It may lie in a folder inside of FOLDER. */
function folderOf(digest: string): string {
  const hex = digest.replace('sha256:', '')
  const paths = readdirSync(FOLDER, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .flatMap(({ name }) => [join(FOLDER, name), join(FOLDER, name, hex)])
  return paths.find((path) => path.endsWith(hex) && bytesBelow(path) > 0) ?? FOLDER
}

function bytesBelow(path: string): number {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (!stats) return 0
  if (!stats.isDirectory()) return stats.size
  return readdirSync(path).reduce((sum, name) => sum + bytesBelow(join(path, name)), 0)
}

function tableOf(tried: readonly Row[], isKept: boolean): string {
  const head = ['package', 'version', 'packages', 'upload s', 'MB', 'import ms', 'answers']
  const lines = tried.map((row) => [
    row.name,
    row.version,
    String(row.packages),
    row.installSeconds.toFixed(1),
    row.megabytes.toFixed(0),
    row.importMs.toFixed(0),
    `${row.answers} of ${CALLS}`,
  ])
  const all = [head, ...lines]
  const widths = head.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0)))
  const text = all.map((line) => line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  '))
  const kept = isKept ? 'Environments of earlier runs were used again.' : 'Every package was downloaded.'
  return `\n${text.join('\n')}\n${kept}\n\n`
}
