import { expect, test } from '@jest/globals'
import { statSync, truncateSync, writeFileSync } from 'node:fs'
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

test('a second start lists the same 753 definitions and compiles none of them; whatever then becomes of what was kept, a start lists the files as they are', async () => {
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
  const { stderr: warnings } = await server.stop()
  expect(warnings).toContain('broken.json')
  const kept = join(server.data, KEPT)
  expect(statSync(kept).mode & 0o777).toBe(0o600)
  await server.restart()
  expect(await startOf(server)).toEqual({ ...first, compiles: false })
  await server.kill9()
  expect((await server.ended()).stderr).toBe(warnings)

  const added = JSON.stringify({ family: 'bfcl', tools: [tool('added', 'One more.')] })
  writeFileSync(join(folder.path, 'added.json'), added)
  truncateSync(kept, 100)
  writeFileSync(`${kept}.new`, 'half', { mode: 0o644 })
  await server.restart()
  const { tools } = await startOf(server)
  expect(tools).toHaveLength(754)
  expect(tools.find((listed) => listed.function.name === 'added')?.function.description).toBe('One more.')
  expect((await server.stop()).stderr).toBe(warnings)
  expect(statSync(kept).mode & 0o777).toBe(0o600)
})
