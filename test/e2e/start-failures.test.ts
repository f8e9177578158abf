import { expect, test } from '@jest/globals'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { EXIT } from '../../functions/src/hosts/local/start-error.ts'
import { failedStart, Server } from '../support/server.ts'
import type { Ended } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { post, tool } from '../support/tool.ts'

/** One sentence for a person, the documented exit code, and nothing else. */
function expectOneSentence(ended: Ended, code: number, sentence: RegExp): void {
  expect(ended).toMatchObject({ code, signal: null, stdout: '' })
  expect(ended.stderr).toMatch(/^[^\n]+\.\n$/)
  expect(ended.stderr).toMatch(sentence)
  expect(ended.stderr).not.toMatch(/\bat .*:\d+|\bError:|node:internal/)
}

test('a second server on the same port or the same data is told, and does not disturb the first; a claim file with a text has its own cure', async () => {
  await using server = await Server.start()
  using data = temporaryFolder()
  const { port } = new URL(server.url)
  expectOneSentence(
    await failedStart({ data: data.path, env: { PORT: port } }),
    EXIT.addressTaken,
    /^Port \d+ on 127\.0\.0\.1 is in use by another program; .*PORT/,
  )
  expectOneSentence(
    await failedStart({ data: server.data }),
    EXIT.dataInUse,
    /^Another Toolrack server uses the data in .*TOOLRACK_DATA/,
  )
  expect((await post(server, [tool('still_writes')])).status).toBe(200)

  const claim = join(server.data, 'in-use')
  writeFileSync(claim, 'x'.repeat(5_000))
  // The lock of a running server counts more than the content.
  expect((await failedStart({ data: server.data })).code).toBe(EXIT.dataInUse)
  await server.kill9()
  expectOneSentence(
    await failedStart({ data: server.data }),
    EXIT.damagedData,
    /in-use cannot be used .* it holds no data, .*Remove it and start again, unless/,
  )
  rmSync(claim)
  await server.restart()
  expect((await server.fetch('/workflows/tools/defs/still_writes')).status).toBe(200)
})

test('a damaged database is told with what to do, and is left as it is', async () => {
  using data = temporaryFolder()
  const path = join(data.path, 'toolrack.db')
  const damaged = 'no database '.repeat(1_000)
  writeFileSync(path, damaged)
  expectOneSentence(
    await failedStart({ data: data.path }),
    EXIT.damagedData,
    /toolrack\.db is damaged.* It held the definitions and modules of users.*Then put a copy of it back/,
  )
  expect(readFileSync(path, 'utf8')).toBe(damaged)
})

test('a folder of definitions that is none is told by the name of its variable, before anything is made', async () => {
  using data = temporaryFolder()
  const ended = await failedStart({ data: data.path, env: { TOOLRACK_DEFS_DIR: '/dev/null' } })
  expectOneSentence(ended, EXIT.badConfig, /TOOLRACK_DEFS_DIR: .* is not a folder/)
  expect(readdirSync(data.path)).toEqual([])
})
