import { expect, test } from '@jest/globals'
import { execFile } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { tool } from '../support/definition-changes.ts'
import { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const CLI = fileURLToPath(new URL('../../functions/src/hosts/local/audit-cli.ts', import.meta.url))

async function verify(...args: readonly string[]): Promise<{ code: number; said: string }> {
  const all = ['--disable-warning=ExperimentalWarning', CLI, 'verify', ...args]
  const run = promisify(execFile)(process.execPath, all)
  return run.then(
    ({ stdout }) => ({ code: 0, said: stdout }),
    ({ code, stderr }: { code: number; stderr: string }) => ({ code, said: stderr }),
  )
}

type Health = { readonly audit: { readonly fault: { readonly day: string; readonly place: string } | null } }
const healthOf = async (server: Server): Promise<Health['audit']> =>
  ((await (await server.fetch('/health')).json()) as Health).audit

/** Changes the second record of a day, as somebody does who can write the file. */
function tamper(path: string, from: string, to: string): void {
  const database = new DatabaseSync(path, { timeout: 5_000 })
  database.exec(
    `BEGIN; INSERT INTO opened VALUES (1); UPDATE records SET text = replace(text, '${from}', '${to}') WHERE seq = 2; DELETE FROM opened; COMMIT`,
  )
  database.close()
}

test('a killed server loses no record; a changed byte of its files is found by the command, by the next start and by /health, and no longer when it is as it was', async () => {
  using folder = temporaryFolder()
  const at = (name: string): string => join(folder.path, name)
  const [data, copy, changed] = [at('data'), at('audit.jsonl'), at('changed')]
  await using server = await Server.start({ data, env: { TOOLRACK_AUDIT_LOG_PATH: copy } })
  const invoke = { method: 'POST', body: JSON.stringify({ name: 'ECHO', arguments: { text: 'hello' } }) }
  for (let start = 0; start < 2; start += 1) {
    if (start > 0) await server.restart()
    const put = { method: 'PUT', body: JSON.stringify(tool(`made${start}`)) }
    expect((await server.fetch(`/workflows/tools/defs/made${start}`, put)).status).toBe(201)
    for (let index = 0; index < 5; index += 1)
      await (await server.fetch('/workflows/tools/invoke', invoke)).text()
    expect(await healthOf(server)).toMatchObject({ mode: 'on', lost: 0, fault: null })
    await (start === 0 ? server.kill9() : server.stop())
  }
  const database = join(data, 'audit.sqlite')
  const left = at('left')
  cpSync(data, left, { recursive: true })
  for (const file of [join(left, 'audit.sqlite'), copy]) {
    const whole = await verify(file)
    expect(whole.code).toBe(0)
    expect(whole.said).toContain('12 records are unchanged')
  }
  const heads = (await verify(copy)).said.trimEnd().split('\n').slice(-1)
  expect((await verify(copy, `--head=${heads[0]}`)).code).toBe(0)

  const lines = readFileSync(copy, 'utf8').trimEnd().split('\n')
  writeFileSync(changed, `${lines.slice(0, -1).join('\n')}\n`)
  expect((await verify(changed, `--head=${heads[0]}`)).said).toContain('this head was kept elsewhere')
  writeFileSync(changed, lines.with(2, (lines[2] ?? '').replace('"kind":"call"', '"kind":"cell"')).join('\n'))
  expect(await verify(changed)).toMatchObject({
    code: 1,
    said: expect.stringMatching(/^line 3: record 3 of local-/),
  })
  writeFileSync(changed, Buffer.concat([Buffer.from(lines.join('\n')), Buffer.from([0xff])]))
  expect((await verify(changed)).code).toBe(1)

  const bytes = readFileSync(join(left, 'audit.sqlite'))
  const byte = bytes.indexOf('"kind":"call"')
  bytes[byte + 8] = 'b'.charCodeAt(0)
  writeFileSync(join(left, 'audit.sqlite'), bytes)
  expect(await verify(join(left, 'audit.sqlite'))).toMatchObject({
    code: 1,
    said: expect.stringMatching(/record \d+ of local-/),
  })
  expect((await verify(at('none'))).code).toBe(1)

  tamper(database, '"outcome":"ok"', '"outcome":"no"')
  await server.restart()
  const { fault } = await until(
    () => healthOf(server),
    (audit) => audit.fault !== null,
  )
  expect(fault).toEqual({
    day: expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
    place: expect.stringMatching(/^record 2 of local-/),
    reason: expect.stringContaining('something in it was changed'),
  })
  expect(server.log).toMatch(/^error the audit trail does not verify: .*"place":"record 2 of local-/m)
  // Who has no token reads nothing of it.
  const answer = await fetch(`${server.url}/health`)
  expect(await answer.json()).not.toHaveProperty('audit')

  tamper(database, '"outcome":"no"', '"outcome":"ok"')
  const verified = await (await server.fetch('/workflows/audit/verify')).json()
  expect(verified).toMatchObject({ ok: true })
  expect((await healthOf(server)).fault).toBeNull()
})
