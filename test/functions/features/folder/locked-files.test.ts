import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals'
import { ToolrackError } from '@toolrack/contract'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PackageLock } from '../../../../functions/src/catalog/definitions/package-lock.ts'
import type { Runner } from '../../../../functions/src/catalog/definitions/runner.ts'
import { SchemaCompilers } from '../../../../functions/src/catalog/schemas/schema-compilers.ts'
import type { LayerSource } from '../../../../functions/src/catalog/views/layer-source.ts'
import type { Documents } from '../../../../functions/src/documents/documents.ts'
import { FileModules } from '../../../../functions/src/features/folder/file-modules.ts'
import { FolderLayers } from '../../../../functions/src/features/folder/folder-layers.ts'
import { ModuleFolder } from '../../../../functions/src/features/folder/module-folder.ts'
import { lockOf, sha256Of } from '../../../support/module-changes.ts'
import { checkedModule, readingRunner, textIn } from '../../../support/reading-runner.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { twoSqliteDocuments, type TwoDocuments } from '../../../support/two-stores.ts'

const compilers = new SchemaCompilers()
afterAll(() => compilers.close())
const log = { info: () => undefined, warn: () => undefined, error: () => undefined }
const NO_FILES: LayerSource = {
  read: () => Promise.resolve({ revision: 'none', whole: true, definitions: [], deleted: [], skipped: [] }),
}
const [one, two] = [lockOf('1.0'), lockOf('2.0')]
const SOURCE = '# "m:a"\n'

let folder: ReturnType<typeof temporaryFolder>
let data: TwoDocuments
beforeEach(() => {
  folder = temporaryFolder()
  data = twoSqliteDocuments()
})
afterEach(async () => {
  folder[Symbol.dispose]()
  await data.dispose()
})

/** A start of the service with this runner. */
class Start {
  readonly locks: (PackageLock | undefined)[] = []
  readonly told: string[] = []
  readonly modules: ModuleFolder
  readonly layers: FolderLayers
  newest = one
  isAway = false

  constructor(documents: Documents = data.documents[0]) {
    const runner: Runner = {
      ...readingRunner(),
      check: (check) => {
        this.locks.push(check.lock)
        check.onProgress?.('Installing 1 of 1.')
        if (this.isAway)
          return Promise.reject(new ToolrackError('PACKAGES_UNAVAILABLE', 'The index is away.'))
        return Promise.resolve({ ...checkedModule(textIn(check)), packages: check.lock ?? this.newest })
      },
    }
    this.modules = new ModuleFolder({
      path: folder.path,
      runner,
      compiler: compilers.own,
      log,
      kept: new FileModules(documents),
      progress: (file, text) => this.told.push(`${file}: ${text}`),
      changed: () => undefined,
      patience: { quietMs: 1_000_000, busyMs: 1_000_000 },
    })
    this.layers = new FolderLayers(NO_FILES, [this.modules])
  }

  async save(text?: string): Promise<unknown> {
    if (text !== undefined) writeFileSync(join(folder.path, 'm.py'), text)
    await this.modules.refresh(60_000)
    await this.layers.read()
    return this.modules.files.get('m.py')?.loaded?.lock
  }

  [Symbol.dispose](): void {
    this.layers.close()
  }
}

test('the same bytes have the same packages after a restart, and other bytes have new ones', async () => {
  using first = new Start()
  expect(await first.save(SOURCE)).toEqual(one)
  expect(first.locks).toEqual([undefined])
  expect(first.told).toEqual(['m.py: Installing 1 of 1.'])
  using second = new Start(data.documents[1])
  second.newest = two
  expect(await second.save()).toEqual(one)
  expect(await second.save(`${SOURCE}# more\n`)).toEqual(two)
  expect(second.locks).toEqual([one, undefined])
})

test('the source of a module of the folder comes with the lock that its tools name', async () => {
  using start = new Start()
  await start.save(SOURCE)
  const sha256 = sha256Of(SOURCE)
  expect(start.layers.source(sha256, one.digest)).toEqual({ source: SOURCE, lock: one })
  expect(start.layers.source(sha256, two.digest)).toBeUndefined()
})

test('while the packages cannot be had, the old version serves, and the module is checked again later', async () => {
  using start = new Start()
  await start.save(SOURCE)
  start.isAway = true
  const after = `${SOURCE}# more\n`
  expect(await start.save(after)).toEqual(one)
  expect(start.modules.checking).toEqual([{ file: 'm.py', reason: 'The index is away.' }])
  expect(start.modules.files.get('m.py')).toMatchObject({ faults: [], loaded: { sha256: sha256Of(SOURCE) } })
  expect(start.told.at(-1)).toBe('m.py: is not checked yet: The index is away.')
  start.isAway = false
  await start.save()
  expect(start.modules.files.get('m.py')).toMatchObject({ loaded: { sha256: sha256Of(after) } })
  expect(start.modules.checking).toEqual([])
})

test('a module whose lock cannot be read is not checked without it', async () => {
  using first = new Start()
  await first.save(SOURCE)
  const [documents] = data.documents
  let isLost = true
  const failing: Documents = {
    ...documents,
    read: (...asked) => (isLost ? Promise.reject(new ToolrackError('STORE_BUSY')) : documents.read(...asked)),
    change: (...asked) => documents.change(...asked),
    list: (...asked) => documents.list(...asked),
    claim: (...asked) => documents.claim(...asked),
    history: (...asked) => documents.history(...asked),
  }
  using second = new Start(failing)
  second.newest = two
  expect(await second.save()).toBeUndefined()
  expect(second.locks).toEqual([])
  expect(second.modules.checking).toMatchObject([{ reason: expect.stringContaining('lock cannot be read') }])
  isLost = false
  expect(await second.save()).toEqual(one)
})
