import { describe, expect, test } from '@jest/globals'
import { existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { artifactKey } from '../../../../functions/src/features/artifacts/artifact-bytes.ts'
import { ArtifactFiles } from '../../../../functions/src/stores/files/artifact-files.ts'
import {
  artifactBytesContract,
  contentOf,
  type BytesHarness,
} from '../../../support/artifact-bytes.contract.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const MB = 1024 ** 2
const GB = 1024 ** 3

/** The names of all files in the folders of artifacts, and of those that are unfinished. */
function filesIn(root: string) {
  const [folders, unfinished] = [readdirSync(root), join(root, 'unfinished')]
  const contents = folders
    .filter((name) => name !== 'unfinished')
    .flatMap((name) => readdirSync(join(root, name)).map((file) => join(root, name, file)))
  return { contents, unfinished: readdirSync(unfinished).map((name) => join(unfinished, name)) }
}

function harness(): Promise<BytesHarness> {
  const folder = temporaryFolder()
  const root = join(folder.path, 'artifacts')
  const store = new ArtifactFiles(root)
  return Promise.resolve({
    stores: [store, store],
    left: () => {
      const { contents, unfinished } = filesIn(root)
      return Promise.resolve({ contents: contents.length, unfinished: unfinished.length })
    },
    dispose: async () => {
      await store.close()
      folder[Symbol.dispose]()
    },
  })
}

async function* content(text: string): AsyncGenerator<Uint8Array> {
  await Promise.resolve()
  yield Buffer.from(text)
}

describe('artifact files', () => {
  artifactBytesContract(harness)

  test('only the account of the server can read the files', async () => {
    using folder = temporaryFolder()
    const root = join(folder.path, 'artifacts')
    const store = new ArtifactFiles(root)
    await store.write(artifactKey(Date.now()), content('x'), 10)
    const { contents } = filesIn(root)
    expect(contents).toHaveLength(1)
    for (const path of contents) expect(statSync(path).mode & 0o777).toBe(0o600)
    for (const name of readdirSync(root)) expect(statSync(join(root, name)).mode & 0o777).toBe(0o700)
  })

  test('a start removes what a killed server has left unfinished, and keeps the rest', async () => {
    using folder = temporaryFolder()
    const root = join(folder.path, 'artifacts')
    const key = artifactKey(Date.now())
    const before = new ArtifactFiles(root)
    await before.write(key, content('kept'), 10)
    writeFileSync(join(root, 'unfinished', artifactKey(Date.now())), 'a part')
    const after = new ArtifactFiles(root)
    expect(filesIn(root)).toMatchObject({ contents: [expect.stringContaining(key)], unfinished: [] })
    expect((await contentOf(after, key))?.toString()).toBe('kept')
  })

  test('a piece is on its way to the disk before the next one is asked for', async () => {
    using folder = temporaryFolder()
    const root = join(folder.path, 'artifacts')
    const store = new ArtifactFiles(root)
    const behind: number[] = []
    async function* counted() {
      for (let asked = 0; asked < 50; asked += 1) {
        const [path = ''] = filesIn(root).unfinished
        behind.push(asked * 100_000 - statSync(path).size)
        yield await Promise.resolve(Buffer.alloc(100_000))
      }
    }
    await store.write(artifactKey(Date.now()), counted(), 5_000_000)
    expect(Math.max(...behind)).toBe(0)
  })

  test('a link in place of a file is not followed, neither to read nor to write nor to remove', async () => {
    using folder = temporaryFolder()
    const root = join(folder.path, 'artifacts')
    const secret = join(folder.path, 'token')
    writeFileSync(secret, 'secret')
    const store = new ArtifactFiles(root)
    const [read, written] = [artifactKey(Date.now()), artifactKey(Date.now())]
    mkdirSync(join(root, read.slice(0, 6)), { recursive: true })
    symlinkSync(secret, join(root, read.slice(0, 6), read))
    symlinkSync(secret, join(root, 'unfinished', written))
    expect(await store.read(read)).toBeUndefined()
    await expect(store.write(written, content('x'), 10)).rejects.toMatchObject({ code: 'STORE_FAILED' })
    await store.remove([read])
    expect(existsSync(secret)).toBe(true)
    expect(statSync(secret).size).toBe(6)
  })

  test.each([
    ['a large disk', 100 * GB, 256 * MB],
    ['a small disk', GB, 0.05 * GB],
  ])('%s keeps its reserve for the databases', async (_what, bytes, reserveBytes) => {
    using folder = temporaryFolder()
    const root = join(folder.path, 'artifacts')
    let freeBytes = reserveBytes
    const store = new ArtifactFiles(root, () => Promise.resolve({ bytes, freeBytes }))
    const kept = artifactKey(Date.now())
    await store.write(kept, content('x'), 10)
    freeBytes -= 1
    const full = store.write(artifactKey(Date.now()), content('x'), 10)
    await expect(full).rejects.toMatchObject({ code: 'STORE_FULL' })
    expect(filesIn(root)).toEqual({ contents: [expect.stringContaining(kept)], unfinished: [] })
    expect((await contentOf(store, kept))?.toString()).toBe('x')
  })

  test('a write ends when the disk gets too full, also if other writes fill it', async () => {
    using folder = temporaryFolder()
    const root = join(folder.path, 'artifacts')
    let freeBytes = 300 * MB
    const store = new ArtifactFiles(root, () => Promise.resolve({ bytes: 100 * GB, freeBytes }))
    async function* megabytes(): AsyncGenerator<Uint8Array> {
      for (let sent = 0; sent < 40; sent += 1) {
        yield await Promise.resolve(Buffer.alloc(MB))
        freeBytes -= MB
      }
    }
    const writes = [1, 2, 3].map(() => store.write(artifactKey(Date.now()), megabytes(), 100 * MB))
    const ends = await Promise.allSettled(writes)
    expect(ends).toEqual(ends.map(() => expect.objectContaining({ status: 'rejected' })))
    expect(freeBytes).toBeGreaterThan(240 * MB)
    expect(filesIn(root)).toEqual({ contents: [], unfinished: [] })
  })
})
