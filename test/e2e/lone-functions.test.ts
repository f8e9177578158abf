import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle } from '../../scripts/toolchain/bundle.mjs'
import { npmInstall } from '../../scripts/toolchain/npm.mjs'

/** What a deployment uploads: `functions/` by itself, built, with its own lock file and nothing else of the tree. */
const FUNCTIONS = fileURLToPath(new URL('../../functions', import.meta.url))
const UPLOADED = ['dist', 'workflows', 'package.json', 'package-lock.json']

let folder: string
let server: ChildProcess
let url = ''
let token = ''

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'toolrack-lone-'))
  await bundle(FUNCTIONS, { logLevel: 'silent' })
  for (const name of UPLOADED) cpSync(join(FUNCTIONS, name), join(folder, name), { recursive: true })
  await npmInstall({ what: 'functions', cwd: folder, node: process.execPath, flags: ['--omit=dev'] })
  const env = { PATH: process.env['PATH'], PORT: '0', TOOLRACK_DATA: join(folder, 'data') }
  server = spawn(process.execPath, ['dist/local.js'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  ;[url, token] = await banner(server)
}, 180_000)

afterAll(() => {
  server.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
})

async function banner(child: ChildProcess): Promise<[string, string]> {
  let text = ''
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk)
    const [, at, secret] = /ready at (\S+)[\s\S]*\ntoken: (\S+)\n/.exec(text) ?? []
    if (at !== undefined && secret !== undefined) return [at, secret]
  }
  throw new Error(`the server ended: ${text}`)
}

const call = (path: string, init: RequestInit = {}): Promise<Response> =>
  fetch(url + path, { ...init, headers: { Authorization: `Bearer ${token}` } })

test('functions/ alone, installed from its own lock file, lists the file layer that it carries', async () => {
  const tools = (await (await call('/workflows/tools/list?names=READ_FILE')).json()) as unknown[]
  expect(tools).toHaveLength(1)
})

test('its schema worker is a file of the bundle and admits definitions', async () => {
  const body = JSON.stringify({ parameters: { type: 'object', properties: { a: { type: 'strin' } } } })
  const refused = await call('/workflows/tools/defs/A', { method: 'PUT', body })
  expect(refused.status).toBe(422)
  expect(await refused.json()).toMatchObject({
    error: { details: [{ pointer: '/parameters/properties/a/type' }] },
  })
})

test('it carries nothing of the workspace by name, so no registry is ever asked for it', () => {
  for (const name of ['package.json', 'package-lock.json', 'dist/local.js']) {
    expect([
      name,
      /(from|require\()\s*['"]@toolrack\//.test(readFileSync(join(folder, name), 'utf8')),
    ]).toEqual([name, false])
  }
  expect(readFileSync(join(folder, 'package-lock.json'), 'utf8')).not.toContain('@toolrack/')
})
