import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Log } from '../../log.ts'
import { KeptAdmissions } from '../../stores/files/kept-admissions.ts'
import { VERSION } from '../../version.ts'
import { KEPT_ADMISSIONS } from './private-files.ts'

const IS_SOURCE = import.meta.url.endsWith('.ts')
/** The folders with the code that checks definition files. In a bundle, the file of the bundle. */
const CODE = IS_SOURCE
  ? [
      '../../stores/files/',
      '../../catalog/',
      '../../json/',
      '../../redaction/',
      '../../../../packages/contract/src/',
    ]
  : ['./']
/** The manifest of the package. It pins the versions of the packages that check definitions. */
const MANIFEST = pathOf(IS_SOURCE ? '../../../package.json' : '../package.json')

export function openKeptAdmissions(folder: string, log: Pick<Log, 'warn'>): KeptAdmissions {
  return new KeptAdmissions({ path: join(folder, KEPT_ADMISSIONS), program: programDigest, log })
}

/**
 * A text that identifies the running program, because another program may check definitions differently. The version is not
 * enough, because the code of a checkout changes without a new version.
 */
export function programDigest(): string {
  const hash = createHash('sha256').update(`${VERSION} ${process.version}`)
  const manifest = existsSync(MANIFEST) ? [MANIFEST] : []
  for (const file of [...CODE.flatMap((folder) => codeIn(pathOf(folder))), ...manifest])
    hash.update(`\n${file}\n`).update(readFileSync(file))
  return hash.digest('hex')
}

function codeIn(folder: string): readonly string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const code = names.filter((name) => /\.[jt]s$/.test(name))
  return code.toSorted().map((name) => join(folder, name))
}

function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url))
}
