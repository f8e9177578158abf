import { afterAll, beforeAll, expect } from '@jest/globals'
import { mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorAnswer } from '../support/error-answer.ts'
import { invoked } from '../support/invocation.ts'
import { runnerReady, serverWithRunner, upload, uploadFiles } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { listedNames } from '../support/tool.ts'
import { until } from '../support/until.ts'
import { writeWheel } from '../support/wheels.ts'

/** The packages of modules, from the upload to the call, with a folder of wheels in place of an index. */

const wheels = temporaryFolder()
const tools = temporaryFolder()
let server: Server

beforeAll(async () => {
  writeVersion('1.0')
  server = await serverWithRunner({
    env: { TOOLRACK_PACKAGES_WHEELS: wheels.path, TOOLRACK_TOOLS_DIR: tools.path },
  })
})
afterAll(async () => {
  await server?.[Symbol.asyncDispose]()
  wheels[Symbol.dispose]()
  tools[Symbol.dispose]()
})

/** Writes the wheels of `tiny-one` in this version, which needs `tiny-two`. */
function writeVersion(version: string): void {
  const files = { 'tiny_one/__init__.py': `from tiny_two import NAME\nVERSION = NAME + " ${version}"\n` }
  writeWheel(wheels.path, { name: 'tiny-one', version, files, requires: ['tiny-two'] })
  writeWheel(wheels.path, { name: 'tiny-two', version: '1.0', files: { 'tiny_two.py': 'NAME = "tiny"\n' } })
}

/** A module that asks for `tiny-one`, and whose tool tells its version. */
function moduleOf(name: string, requirement = 'tiny-one'): string {
  return `# /// script
# dependencies = ["${requirement}"]
# ///
import tiny_one


def version() -> str:
    """Tell the version of the package."""
    return tiny_one.VERSION


TOOL_SPECS = [{"name": "${name}:version", "handler": version}]
`
}

/** What a call of the tool of a module answers: its text, or its code. */
async function called(name: string): Promise<string> {
  const [, result] = await invoked(server, `${name}:version`)
  return result.resultType === 'success' ? result.textResultForLlm : result.code
}

type Uploaded = {
  readonly grants: readonly { readonly kind: string; readonly value: string }[]
  readonly grantsDigest: string
  readonly environment: string
}

async function put(name: string, source: string, query = ''): Promise<Uploaded> {
  const answer = await server.fetch(`/workflows/tools/modules/${name}${query}`, {
    method: 'PUT',
    body: new TextEncoder().encode(source),
  })
  if (!answer.ok) throw new Error(`the upload was answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as Uploaded
}

/** Accepts the grants of a module, as the person who has the approver token. */
async function accept(name: string, digest: string, layer = 'user'): Promise<void> {
  const answer = await server.fetch(`/workflows/tools/modules/${name}/grants?layer=${layer}`, {
    method: 'POST',
    headers: server.approver,
    body: JSON.stringify({ digest }),
  })
  expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)])
}

withPython(
  'a module with packages waits for a person, and answers when its grants are accepted',
  async () => {
    const { grants, grantsDigest } = await put('waits', moduleOf('waits', 'Tiny_One>=1'))
    expect(grants).toEqual([{ kind: 'packages', value: 'tiny-one>=1' }])
    expect(await called('waits')).toBe('GRANTS_PENDING')
    expect(await listedNames(server)).not.toContain('waits:version')
    const byModel = await server.fetch('/workflows/tools/modules/waits/grants', {
      method: 'POST',
      body: JSON.stringify({ digest: grantsDigest }),
    })
    expect(byModel.status).toBe(403)
    await accept('waits', grantsDigest)
    expect(await listedNames(server)).toContain('waits:version')
    expect(await called('waits')).toBe('tiny 1.0')
  },
)

withPython(
  'the same bytes keep their lock, relock chooses new versions, and neither asks again',
  async () => {
    const { grantsDigest, environment } = await put('locked', moduleOf('locked'))
    await accept('locked', grantsDigest)
    writeVersion('1.1')
    expect((await put('locked', moduleOf('locked'))).environment).toBe(environment)
    expect(await called('locked')).toBe('tiny 1.0')
    expect((await put('locked', moduleOf('locked'), '?relock=1')).environment).not.toBe(environment)
    expect(await called('locked')).toBe('tiny 1.1')
  },
)

withPython('other versions are other grants, and the old version is what a rollback gets', async () => {
  const { grantsDigest } = await put('ranges', moduleOf('ranges', 'tiny-one<1.1'))
  await accept('ranges', grantsDigest)
  const { grantsDigest: other } = await put('ranges', moduleOf('ranges', 'tiny-one>=1.1'))
  expect(await called('ranges')).toBe('GRANTS_PENDING')
  await accept('ranges', other)
  expect(await called('ranges')).toBe('tiny 1.1')
})

withPython(
  'without its index an upload is refused, and what was there goes on, also after a restart',
  async () => {
    const { grantsDigest } = await put('kept', moduleOf('kept'))
    await accept('kept', grantsDigest)
    const before = await called('kept')
    const away = `${wheels.path}-away`
    renameSync(wheels.path, away)
    try {
      const refused = await errorAnswer(await upload(server, 'kept', moduleOf('kept', 'tiny-one>=1.0')))
      expect([refused.httpStatus, refused.reason]).toEqual([503, 'PACKAGES_UNAVAILABLE'])
      expect(await called('kept')).toBe(before)
      await server.kill9()
      // A start needs the folder, but not the wheels in it.
      mkdirSync(wheels.path)
      await server.restart()
      await runnerReady(server)
      expect(await called('kept')).toBe(before)
    } finally {
      rmSync(wheels.path, { recursive: true, force: true })
      renameSync(away, wheels.path)
    }
  },
)

withPython(
  'an environment that is gone is built again from the lock before the call, not resolved anew',
  async () => {
    const { grantsDigest, environment } = await put('rebuilt', moduleOf('rebuilt', 'tiny-one<1.1'))
    await accept('rebuilt', grantsDigest)
    expect(await called('rebuilt')).toBe('tiny 1.0')
    writeVersion('1.0.5')
    await server.kill9()
    for (const folder of ['environments', 'manifests'])
      rmSync(join(server.data, 'packages', folder), { recursive: true, force: true })
    await server.restart()
    await runnerReady(server)
    expect(await called('rebuilt')).toBe('tiny 1.0')
    expect(readdirSync(join(server.data, 'packages/environments'))).toContain(
      environment.replace('sha256:', ''),
    )
  },
)

withPython('a package that cannot be had is named, and nothing is written', async () => {
  for (const [requirement, named] of [
    ['tiny-none', 'tiny-none'],
    ['tiny-one==9', 'tiny-one'],
    ['tiny-one @ https://a.example/tiny_one-1.0-py3-none-any.whl', 'tiny-one'],
  ] as const) {
    const answer = await upload(server, 'refused', moduleOf('refused', requirement))
    expect([answer.status, await answer.text()]).toEqual([422, expect.stringContaining(named)])
  }
  expect(await called('refused')).toBe('TOOL_NOT_FOUND')
})

withPython('modules with the same lock share one environment', async () => {
  const environments = () => readdirSync(join(server.data, 'packages/environments')).length
  const { environment } = await put('one', moduleOf('one'))
  const count = environments()
  const answer = await uploadFiles(server, 'two', { '__init__.py': moduleOf('two') })
  expect(((await answer.json()) as Uploaded).environment).toBe(environment)
  expect(environments()).toBe(count)
})

withPython('a module of the watched folder waits for a person too', async () => {
  mkdirSync(join(tools.path, 'saved'))
  writeFileSync(join(tools.path, 'saved/__init__.py'), moduleOf('saved'))
  await until(
    () => called('saved'),
    (text) => text === 'GRANTS_PENDING',
  )
  const answer = await server.fetch('/workflows/tools/modules/saved/grants?layer=file')
  await accept('saved', ((await answer.json()) as Uploaded).grantsDigest, 'file')
  await until(
    () => called('saved'),
    (text) => text === 'tiny 1.1',
  )
})
