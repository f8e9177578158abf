import { expect, test } from '@jest/globals'
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bfclDefinitions } from '../support/bfcl-definitions.ts'
import { commandOf, descendantsOf } from '../support/processes.ts'
import { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { list, tool } from '../support/tool.ts'

const KEPT = 'definition-files.cache'

/** The list with its entity tag, and whether the server has started a process that compiles schemas. */
async function startOf(server: Server) {
  const etag = (await server.fetch('/workflows/tools/list')).headers.get('ETag')
  const commands = descendantsOf(server.pid).map(commandOf)
  const compiles = commands.some((command) => command.includes('schema-worker'))
  return { etag, tools: await list(server), compiles }
}

test('a second start lists the same 753 definitions and compiles none of them', async () => {
  using folder = temporaryFolder()
  // The type names of Python are converted, so that the definitions of a second start are not simply those of the files.
  for (const [index, definition] of bfclDefinitions('definitions.raw').entries())
    writeFileSync(join(folder.path, `${index}.json`), JSON.stringify({ family: 'bfcl', tools: [definition] }))
  writeFileSync(
    join(folder.path, 'broken.json'),
    JSON.stringify({ family: 'bfcl', tools: [tool('no name')] }),
  )
  await using server = await Server.start({ definitions: folder.path })
  const first = await startOf(server)
  expect([first.tools.length, first.compiles]).toEqual([753, true])
  const warnings = server.log
  await server.stop()
  await server.restart()
  expect(await startOf(server)).toEqual({ ...first, compiles: false })
  expect(warnings).toContain('broken.json')
  expect(server.log).toBe(warnings)
})

test('whatever became of what was kept, the next start lists the files as they are', async () => {
  using folder = temporaryFolder()
  const file = join(folder.path, 'a.json')
  const write = (description: string): void =>
    writeFileSync(file, JSON.stringify({ family: 'f', tools: [tool('a', description)] }))
  write('One.')
  await using server = await Server.start({ definitions: folder.path })
  const kept = join(server.data, KEPT)
  const described = async (): Promise<unknown> => (await list(server))[0]?.function.description
  await server.stop()
  expect(statSync(kept).mode & 0o777).toBe(0o600)
  const whole = readFileSync(kept)

  const steps: readonly (() => void)[] = [
    () => write('Two.'),
    () => truncateSync(kept, 100),
    () => writeFileSync(kept, whole),
    () => writeFileSync(kept, 'x'.repeat(10_000), { mode: 0o644 }),
    () => writeFileSync(`${kept}.new`, 'half', { mode: 0o644 }),
  ]
  for (const step of steps) {
    step()
    await server.restart()
    expect(await described()).toBe('Two.')
    await server.stop()
    expect(statSync(kept).mode & 0o777).toBe(0o600)
  }
  await server.restart()
  await server.kill9()
  await server.restart()
  expect(await described()).toBe('Two.')
})
