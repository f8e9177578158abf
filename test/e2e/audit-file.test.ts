import { expect, test } from '@jest/globals'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { tool } from '../support/definition-changes.ts'
import { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const CLI = fileURLToPath(new URL('../../functions/src/hosts/local/audit-cli.ts', import.meta.url))

async function verify(...args: readonly string[]): Promise<{ code: number; said: string }> {
  const all = ['--disable-warning=ExperimentalWarning', CLI, 'verify', ...args]
  const run = promisify(execFile)(process.execPath, all)
  return run.then(
    ({ stdout }) => ({ code: 0, said: stdout }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, said: stderr }),
  )
}

test('a killed server loses no record, and one changed byte of its files is found', async () => {
  using folder = temporaryFolder()
  const [data, copy] = [join(folder.path, 'data'), join(folder.path, 'audit.jsonl')]
  const env = { TOOLRACK_AUDIT_LOG_PATH: copy }
  const invoke = { method: 'POST', body: JSON.stringify({ name: 'ECHO', arguments: { text: 'hello' } }) }
  for (let start = 0; start < 2; start += 1) {
    await using server = await Server.start({ data, env })
    const put = { method: 'PUT', body: JSON.stringify(tool(`made${start}`)) }
    expect((await server.fetch(`/workflows/tools/defs/made${start}`, put)).status).toBe(201)
    for (let index = 0; index < 5; index += 1)
      await (await server.fetch('/workflows/tools/invoke', invoke)).text()
    await server.kill9()
  }
  const database = join(data, 'audit.sqlite')
  for (const file of [database, copy]) {
    const whole = await verify(file)
    expect(whole.code).toBe(0)
    expect(whole.said).toContain('12 records are unchanged')
  }
  const heads = (await verify(copy)).said.trimEnd().split('\n').slice(-1)
  expect((await verify(copy, `--head=${heads[0]}`)).code).toBe(0)

  const lines = readFileSync(copy, 'utf8').trimEnd().split('\n')
  writeFileSync(copy, `${lines.slice(0, -1).join('\n')}\n`)
  expect((await verify(copy, `--head=${heads[0]}`)).said).toContain('this head was kept elsewhere')
  writeFileSync(copy, lines.with(2, (lines[2] ?? '').replace('"kind":"call"', '"kind":"cell"')).join('\n'))
  expect(await verify(copy)).toMatchObject({
    code: 1,
    said: expect.stringMatching(/^line 3: record 3 of local-/),
  })
  writeFileSync(copy, Buffer.concat([Buffer.from(lines.join('\n')), Buffer.from([0xff])]))
  expect((await verify(copy)).code).toBe(1)

  // The last one that closes the file brings its journal into it.
  const closed = new DatabaseSync(database)
  closed.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  closed.close()
  const bytes = readFileSync(database)
  const at = bytes.indexOf('"kind":"call"')
  bytes[at + 8] = 'b'.charCodeAt(0)
  writeFileSync(database, bytes)
  expect(await verify(database)).toMatchObject({
    code: 1,
    said: expect.stringMatching(/record \d+ of local-/),
  })
  expect((await verify(join(folder.path, 'none'))).code).toBe(1)
})
