import { expect } from '@jest/globals'
import type { JsonObject } from '@toolrack/contract'
import { cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { errorAnswer } from '../support/error-answer.ts'
import { Server } from '../support/server.ts'
import { onSmallDisk, withSmallDisk } from '../support/small-disk.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { listedNames, post, put, tool } from '../support/tool.ts'

/** A file of 600 kB that can be removed to make room. */
const FILLER = 'head -c 600000 /dev/zero > "$0/filler"'

function big(name: string): JsonObject {
  return tool(name, 'x'.repeat(16_000))
}

withSmallDisk(
  'on a full disk writes are a 503 that says so, lists go on, and writes come back with room',
  async () => {
    using folder = temporaryFolder()
    const disk = join(folder.path, 'disk')
    mkdirSync(disk)
    await using server = await Server.start({
      data: join(disk, 'data'),
      through: onSmallDisk(disk, 2, FILLER),
    })
    /** The small disk as the server sees it. */
    const seen = join('/proc', String(server.pid), 'root', disk)

    const written: string[] = []
    let refused: Response | undefined
    while (!refused && written.length < 200) {
      const name = `big_${written.length}`
      const answer = await put(server, name, big(name))
      if (answer.ok) written.push(name)
      else refused = answer
    }
    expect(refused?.headers.get('retry-after')).toBe('1')
    expect(refused && (await errorAnswer(refused))).toMatchObject({
      httpStatus: 503,
      reason: 'STORE_FULL',
      message: 'The disk of the store is full; nothing was written.',
    })
    expect(written.length).toBeGreaterThan(5)

    const bulk = Array.from({ length: 50 }, (_, index) => big(`bulk_${index}`))
    expect((await post(server, bulk)).status).toBe(503)
    expect((await post(server, bulk, 'layer=global')).status).toBe(503)
    const own = async () =>
      (await listedNames(server, 'strict=1')).filter((name) => /^(big|bulk|after)_/.test(name))
    expect(await own()).toEqual(written.toSorted())

    rmSync(join(seen, 'filler'))
    expect((await put(server, 'after_room', tool('after_room'))).status).toBe(201)
    expect((await post(server, bulk.slice(0, 3))).status).toBe(200)
    expect(await own()).toEqual([...written, 'after_room', 'bulk_0', 'bulk_1', 'bulk_2'].toSorted())

    const copy = join(folder.path, 'copy')
    cpSync(join(seen, 'data'), copy, { recursive: true })
    using database = new DatabaseSync(join(copy, 'toolrack.db'))
    expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    const stored = database.prepare('SELECT name FROM definitions WHERE text IS NOT NULL ORDER BY name')
    expect(stored.all().map(({ name }) => name)).toEqual(await own())
  },
)
