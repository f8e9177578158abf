import { afterEach, expect, test } from '@jest/globals'
import { join } from 'node:path'
import { readdirSync } from 'node:fs'
import { grantOf, type Principal } from '../../../../functions/src/access/principal.ts'
import {
  KEPT_MS,
  USER_BYTES_MAX,
  type Artifact,
} from '../../../../functions/src/features/artifacts/artifact.ts'
import { ArtifactStore, WRITING_MS } from '../../../../functions/src/features/artifacts/artifact-store.ts'
import { ArtifactFiles } from '../../../../functions/src/stores/files/artifact-files.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import type { TwoDocuments } from '../../../support/two-stores.ts'
import { until } from '../../../support/until.ts'

const ANN: Principal = { kind: 'user', uid: 'ann', isAdmin: false }
const BOB: Principal = { ...ANN, uid: 'bob' }
const TEXT = { type: 'text/plain', name: 'a.txt' }
const TEN_MB = USER_BYTES_MAX / 10
const DIGEST = `sha256:${'0'.repeat(64)}` as const

const jobOf = (workflowId: string, ...tools: readonly string[]): Principal => ({
  kind: 'job',
  uid: 'ann',
  isAdmin: false,
  workflowId,
  grant: grantOf(tools.map((name) => ({ name, digest: DIGEST }))),
})

const notFound = { code: 'ARTIFACT_NOT_FOUND' }

/** A content that begins at once, and ends when `gate` does. */
async function* after(gate: Promise<unknown>, text = 'x'): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
  await gate
}

const upload = (store: ArtifactStore, who: Principal = ANN, text = 'x') =>
  store.upload(who, TEXT, after(Promise.resolve(), text), text.length)
const keep = (store: ArtifactStore, who: Principal = ANN, more: object = {}) =>
  store.keep(who, { ...TEXT, ...more }, Buffer.from('x'))

/** What the artifacts of users guarantee over every adapter of the documents. */
export function storeContract(open: () => TwoDocuments): void {
  let dispose: (() => Promise<void>) | undefined
  afterEach(async () => {
    await dispose?.()
    dispose = undefined
  })
  function two() {
    const opened = open()
    const folder = temporaryFolder()
    const bytes = new ArtifactFiles(folder.path)
    const warnings: string[] = []
    const log = { warn: (message: string) => void warnings.push(message) }
    const [one, other] = opened.documents.map(
      (documents, at) =>
        new ArtifactStore({ documents, bytes, now: () => opened.clocks[at]?.nowMs ?? 0, log }),
    )
    dispose = async () => {
      await opened.dispose()
      folder[Symbol.dispose]()
    }
    const files = () =>
      readdirSync(folder.path).flatMap((name) => readdirSync(join(folder.path, name))).length
    return {
      one: one as ArtifactStore,
      other: other as ArtifactStore,
      clocks: opened.clocks,
      warnings,
      files,
    }
  }

  test('an artifact is found by its user on the other instance, and by nobody else', async () => {
    const { one, other, files } = two()
    const [uploaded, kept] = [await upload(one), await keep(one)]
    for (const artifact of [uploaded, kept]) {
      expect(await other.find(ANN, artifact.id)).toEqual(artifact)
      expect(await other.bytesOf(artifact)).toEqual(Buffer.from('x'))
      await expect(other.find(BOB, artifact.id)).rejects.toMatchObject(notFound)
      await expect(other.delete(BOB, artifact.id)).rejects.toMatchObject(notFound)
    }
    expect((await other.page(ANN, 10)).items).toHaveLength(2)
    expect((await other.page(BOB, 10)).items).toEqual([])
    await other.delete(ANN, kept.id)
    await expect(one.find(ANN, kept.id)).rejects.toMatchObject(notFound)
    expect(files()).toBe(1)
  })

  test('a job token finds what calls of its workflow have made with the tools that it names', async () => {
    const { one, other } = two()
    const job = jobOf('nightly', 'maker:make', 'maker:other')
    const made = await keep(one, job, { tool: 'maker:make', invocationId: 'i1' })
    expect(await other.find(job, made.id)).toEqual(made)
    expect(await other.find(ANN, made.id)).toEqual(made)
    const others = [jobOf('nightly', 'maker:other'), jobOf('weekly', 'maker:make')]
    for (const one of others) await expect(other.find(one, made.id)).rejects.toMatchObject(notFound)
    const ofUser = await keep(one, ANN, { tool: 'maker:make' })
    await expect(other.find(job, ofUser.id)).rejects.toMatchObject(notFound)
    expect((await other.page(job, 10)).items).toEqual([made])
  })

  test('pages of a job token are full, and say nothing about what it may not read', async () => {
    const { one, other, clocks } = two()
    const job = jobOf('nightly', 'maker:make')
    const others = () => Promise.all([upload(one), upload(one), upload(one)])
    await others()
    expect(await other.page(job, 1)).toEqual({ items: [], last: undefined })
    const made: Artifact[] = []
    for (let at = 0; at < 3; at += 1) {
      for (const clock of clocks) clock.nowMs += 1
      made.push(await keep(one, job, { tool: 'maker:make' }))
      await others()
    }
    const [first, second, third] = made
    expect(await other.page(job, 2)).toEqual({ items: [first, second], last: second?.id })
    expect(await other.page(job, 2, second?.id)).toEqual({ items: [third], last: undefined })
    expect(await other.page(job, 3)).toEqual({ items: made, last: undefined })
    expect((await other.page(ANN, 11)).items).toHaveLength(11)
    expect((await other.page(ANN, 15)).last).toBeUndefined()
  })

  test('uploads at once, of two instances, stay within the room of their user', async () => {
    const { one, other, files } = two()
    const { promise: gate, resolve: finish } = Promise.withResolvers<void>()
    let refused = 0
    const uploads = Array.from({ length: 12 }, (_, at) =>
      (at % 2 ? one : other).upload(ANN, TEXT, after(gate), TEN_MB).catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'ITEMS_FULL' })
        refused += 1
        return undefined
      }),
    )
    await until(
      () => Promise.resolve(refused),
      (count) => count === 2,
    )
    await expect(keep(one)).rejects.toMatchObject({
      code: 'ITEMS_FULL',
      message: expect.stringContaining(
        'An upload that has not ended counts with the bytes that it announced',
      ),
    })
    expect(await keep(one, BOB)).toMatchObject({ bytes: 1 })
    finish()
    const kept = (await Promise.all(uploads)).filter((artifact) => artifact !== undefined)
    expect(kept).toHaveLength(10)
    expect(files()).toBe(11)
    // What was reserved and not used is free again.
    expect(await keep(one)).toMatchObject({ bytes: 1 })
  })

  test('an upload that its server does not end gives its room back after a time, and never counts as kept', async () => {
    const { one, other, clocks, files } = two()
    const { promise: gate, resolve: finish } = Promise.withResolvers<void>()
    const lost = one.upload(ANN, TEXT, after(gate), USER_BYTES_MAX)
    await until(
      () => Promise.resolve(files()),
      (count) => count === 1,
    )
    await expect(keep(other)).rejects.toMatchObject({ code: 'ITEMS_FULL' })
    expect((await other.page(ANN, 10)).items).toEqual([])
    for (const clock of clocks) clock.nowMs += WRITING_MS
    expect(await keep(other)).toMatchObject({ bytes: 1 })
    finish()
    await expect(lost).rejects.toMatchObject(notFound)
    expect(files()).toBe(1)
  })

  test('an expired artifact is not found, and its room is free', async () => {
    const { one, other, clocks } = two()
    const artifact = await one.upload(ANN, TEXT, after(Promise.resolve(), 'x'.repeat(TEN_MB)), USER_BYTES_MAX)
    for (const clock of clocks) clock.nowMs += KEPT_MS
    await expect(other.find(ANN, artifact.id)).rejects.toMatchObject(notFound)
    const again: Artifact = await other.upload(ANN, TEXT, after(Promise.resolve()), USER_BYTES_MAX)
    expect((await one.page(ANN, 10)).items).toEqual([again])
  })

  test('a clock that jumps back loses no artifact', async () => {
    const { one, other, clocks } = two()
    const before = await keep(one)
    for (const clock of clocks) clock.nowMs -= KEPT_MS
    const after = await keep(one)
    expect((await other.page(ANN, 10)).items).toEqual([after, before])
    expect(await other.bytesOf(before)).toEqual(Buffer.from('x'))
  })
}
