import { expect, test } from '@jest/globals'
import { execFile } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { claimDataFolder } from '../../../../functions/src/hosts/local/data-folder.ts'
import type { DataFolder } from '../../../../functions/src/hosts/local/data-folder.ts'
import { EXIT, StartError } from '../../../../functions/src/hosts/local/start-error.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { testWhere } from '../../../support/test-where.ts'
import { isRoot, NOT_OWNER, UNPRIVILEGED } from '../../../support/unprivileged.ts'

/** Claims a folder that nobody is warned of. */
function claim(path: string): DataFolder {
  return claimDataFolder(path, {
    warn: (message) => {
      throw new Error(message)
    },
  })
}

function faultOf(act: () => unknown): StartError {
  try {
    act()
  } catch (error) {
    if (error instanceof StartError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

test('a folder that is not there is made, with those above it, for its owner only', () => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'a', 'b')
  claim(path).release()
  expect(statSync(path).mode & 0o777).toBe(0o700)
})

test('a file that other accounts could read becomes one for its owner only; where a link leads is refused', () => {
  using folder = temporaryFolder()
  using other = temporaryFolder()
  const [token, outside] = [join(folder.path, 'token'), join(other.path, 'token')]
  for (const path of [token, outside]) {
    writeFileSync(path, 'secret')
    chmodSync(path, 0o644)
  }
  claim(folder.path).release()
  expect(statSync(token).mode & 0o777).toBe(0o600)

  symlinkSync(outside, join(folder.path, 'job-keys.json'))
  const fault = faultOf(() => claim(folder.path))
  expect(fault.exitCode).toBe(EXIT.unwritableData)
  expect(fault.message).toMatch(/^Other accounts can read .* symbolic link/)
  expect(statSync(outside).mode & 0o777).toBe(0o644)
  chmodSync(outside, 0o600)
  claim(folder.path).release()
  expect(statSync(outside).mode & 0o777).toBe(0o600)
})

test('a symbolic link to nothing is refused, and nothing is made where it leads', () => {
  using folder = temporaryFolder()
  const data = join(folder.path, 'data')
  mkdirSync(data)
  symlinkSync(join(folder.path, 'made'), join(data, 'toolrack.db'))
  const fault = faultOf(() => claim(data))
  expect(fault.exitCode).toBe(EXIT.unwritableData)
  expect(fault.message).toMatch(/toolrack\.db is a symbolic link to nothing; remove it\.$/)
  expect(readdirSync(folder.path)).toEqual(['data'])
  expect(readdirSync(data)).toEqual(['toolrack.db'])
})

test('a folder that holds other things keeps its mode, and is refused where everybody may write', () => {
  using folder = temporaryFolder()
  writeFileSync(join(folder.path, 'notes.txt'), '')
  writeFileSync(join(folder.path, 'token'), 'secret', { mode: 0o644 })
  chmodSync(folder.path, 0o755)
  const warnings: string[] = []
  claimDataFolder(folder.path, {
    warn: (message, fields) => void warnings.push(`${message} ${JSON.stringify(fields)}`),
  }).release()
  expect(warnings).toEqual([
    expect.stringMatching(/^the data folder is open to other accounts.*other things/),
  ])
  const modes = ['.', 'token', 'in-use'].map((name) => statSync(join(folder.path, name)).mode & 0o777)
  expect(modes).toEqual([0o755, 0o600, 0o600])

  chmodSync(folder.path, 0o1777)
  const fault = faultOf(() => claim(folder.path))
  expect(fault.exitCode).toBe(EXIT.unwritableData)
  expect(fault.message).toMatch(/^Every account may write to the data folder .*other things.*\.$/)
  expect(statSync(folder.path).mode & 0o7777).toBe(0o1777)
})

test('a folder is claimed once; released it can be claimed again', () => {
  using folder = temporaryFolder()
  const first = claim(folder.path)
  const fault = faultOf(() => claim(folder.path))
  expect(fault.exitCode).toBe(EXIT.dataInUse)
  expect(fault.message).toMatch(/^Another Toolrack server uses the data in .*\.$/)
  first.release()
  claim(folder.path).release()
})

test('a path through a file is a folder that can not be written', () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'file')
  writeFileSync(file, '')
  for (const path of [file, join(file, 'below')])
    expect(faultOf(() => claim(path))).toMatchObject({
      exitCode: EXIT.unwritableData,
      message: expect.stringMatching(
        /^The data folder .* cannot be written \((?:ENOTDIR|EEXIST)\); .*TOOLRACK_DATA.*\.$/,
      ),
    })
})

test('a folder where the claim file belongs is told', () => {
  using folder = temporaryFolder()
  mkdirSync(join(folder.path, 'in-use'))
  const fault = faultOf(() => claim(folder.path))
  expect(fault.exitCode).toBe(EXIT.damagedData)
  expect(fault.message).toContain(join(folder.path, 'in-use'))
  expect(fault.message).toMatch(/^[^\n]+\.$/)
})

test.each([
  '1234',
  'this is no database at all, but long enough to be read as one'.repeat(20),
  '\0'.repeat(600),
])('a claim file that holds %j is told with its own cure, which helps', (text) => {
  using folder = temporaryFolder()
  const path = join(folder.path, 'in-use')
  writeFileSync(path, text)
  const fault = faultOf(() => claim(folder.path))
  expect(fault.exitCode).toBe(EXIT.damagedData)
  expect(fault.message).toMatch(/in-use cannot be used \(.*it holds no data.*Remove it and start again/)
  rmSync(path)
  claim(folder.path).release()
})

const OPEN = fileURLToPath(new URL('../../../support/open-folders.ts', import.meta.url))

type Opened = { readonly warnings: readonly string[]; readonly exitCode?: number; readonly message?: string }

/** What the server says of each of these folders, if it has only these rights. */
async function openedBy(
  through: readonly string[] | undefined,
  ...folders: readonly string[]
): Promise<readonly Opened[]> {
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', OPEN, ...folders]
  const [command = '', ...args] = [...(through ?? []), ...node]
  const { stdout, stderr } = await promisify(execFile)(command, args)
  expect(stderr).toBe('')
  return JSON.parse(stdout) as readonly Opened[]
}

const asOwner = testWhere(
  UNPRIVILEGED !== undefined,
  'setpriv is missing: as root the suites for unwritable folders and unreadable files can not run.',
)

asOwner('a folder that may not be written, and a file of it that may not be read, are told', async () => {
  using folder = temporaryFolder()
  const at = (...names: readonly string[]): string => join(folder.path, ...names)
  for (const [name, mode] of [
    ['unwritable', 0o500],
    ['closed', 0o000],
  ] as const) {
    mkdirSync(at(name))
    chmodSync(at(name), mode)
  }
  const FILES = ['in-use', 'token', 'toolrack.db']
  for (const name of FILES) {
    mkdirSync(at(`of ${name}`))
    writeFileSync(at(`of ${name}`, name), '', { mode: 0 })
  }
  const folders = [at('unwritable'), at('closed'), at('closed', 'below')]
  const unwritable = {
    warnings: [],
    exitCode: EXIT.unwritableData,
    message: expect.stringMatching(
      /^The data folder [^\n]+ cannot be written \(EACCES\); [^\n]*TOOLRACK_DATA[^\n]*\.$/,
    ),
  }
  expect(await openedBy(UNPRIVILEGED, ...folders, ...FILES.map((name) => at(`of ${name}`)))).toEqual([
    ...folders.map(() => unwritable),
    ...FILES.map((name) => ({
      warnings: [],
      exitCode: name === 'in-use' ? EXIT.damagedData : EXIT.unwritableData,
      message: expect.stringMatching(new RegExp(`^[^\\n]+${name} cannot be (?:used|opened) \\([^\\n]+\\.$`)),
    })),
  ])
  for (const name of ['unwritable', 'closed']) chmodSync(at(name), 0o700)
})

const NOBODY = 65_534
const asRoot = testWhere(
  isRoot && NOT_OWNER !== undefined,
  'The tests are not run as root with setpriv: data folders of other accounts can not be made.',
)

asRoot(
  'a folder of another account is used with a warning if its group may write, and refused if everybody may',
  async () => {
    using folder = temporaryFolder()
    const folderOf = (name: string, mode: number): string => {
      const path = join(folder.path, name)
      mkdirSync(path)
      chownSync(path, NOBODY, 0)
      chmodSync(path, mode)
      return path
    }
    const [ofGroup, ofAll] = [folderOf('group', 0o775), folderOf('all', 0o777)]
    const token = join(folder.path, 'token')
    mkdirSync(token, { mode: 0o700 })
    writeFileSync(join(token, 'token'), `${'t'.repeat(43)}\n`)
    chmodSync(join(token, 'token'), 0o644)
    chownSync(join(token, 'token'), NOBODY, NOBODY)
    expect(await openedBy(NOT_OWNER, ofGroup, ofAll, token)).toEqual([
      {
        warnings: [
          expect.stringMatching(/^the data folder is open to other accounts.*"mode":"775".*"EPERM"\}$/),
        ],
      },
      {
        warnings: [],
        exitCode: EXIT.unwritableData,
        message: expect.stringMatching(
          /^Every account may write to the data folder .*EPERM.*TOOLRACK_DATA.*\.$/,
        ),
      },
      {
        warnings: [],
        exitCode: EXIT.unwritableData,
        message: expect.stringMatching(/^Other accounts can read .*\/token, .*EPERM.*\.$/),
      },
    ])
    expect(statSync(join(ofGroup, 'token')).mode & 0o777).toBe(0o600)
    expect(readdirSync(ofAll)).toEqual([])
  },
)
