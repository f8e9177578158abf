import { expect } from '@jest/globals'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BAD, SPECS } from '../support/bad-modules.ts'
import type { Bad } from '../support/bad-modules.ts'
import { folderBody, folderHas, folderWhen } from '../support/folder.ts'
import { invoked } from '../support/invocation.ts'
import { moduleOf, sharedServerWithRunner } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { listedNames } from '../support/tool.ts'

const folder = temporaryFolder()
const at = (file: string): string => join(folder.path, file)
const GOOD = moduleOf('notes', 'find')
writeFileSync(at('notes.py'), GOOD)
/** Given up after 20 seconds; the others are checked meanwhile. */
writeFileSync(at('hung.py'), `import time\n\ntime.sleep(1_000)\n${SPECS}`)
const started = sharedServerWithRunner({ env: { TOOLRACK_TOOLS_DIR: folder.path } })

/** A path is no name of a file. */
const IN_A_FOLDER = BAD.filter(({ name }) => !name?.includes('/'))

/** The fault is shown in the words that an upload is refused with, and the old version serves. */
async function expectExplained({ kind, code = 'MODULE_INVALID', source, message, name = 'notes' }: Bad) {
  const server = await started()
  const file = `${name}.py`
  const before = await folderWhen(server, ({ tools }) => tools.some((tool) => tool.file === 'notes.py'))
  const [good] = before.tools
  writeFileSync(at(file), source)
  const { skipped } = await folderWhen(server, (body) =>
    body.skipped.some((skip) => skip.file === file && skip.kind === kind && message.test(skip.message)),
  )
  const skip = skipped.find((one) => one.file === file)
  expect(skip).toMatchObject({ reason: code, kind, message: expect.stringMatching(message) })
  expect(skip?.serving).toBe(name === 'notes' ? good?.sha256 : null)
  expect(await listedNames(server, 'category=notes')).toEqual(['notes:find'])
  if (name !== 'notes') rmSync(at(file))
}

for (const bad of IN_A_FOLDER)
  withPython(
    `${bad.kind} in the folder is told as by an upload, and the old version serves: ${bad.message}`,
    () => expectExplained(bad),
  )

withPython('after all of them the old version is still called, and mended the file is back', async () => {
  const server = await started()
  expect(await invoked(server, 'notes:find', { text: 'still here' })).toMatchObject([
    200,
    { resultType: 'success', textResultForLlm: 'still here' },
  ])
  writeFileSync(at('notes.py'), moduleOf('notes', 'find', 'mended'))
  await folderHas(server, ['notes:find', 'notes:mended'], 'notes.py')
  expect(await listedNames(server, 'category=notes')).toEqual(['notes:find', 'notes:mended'])
  const { skipped } = await folderBody(server)
  expect(skipped.filter(({ file }) => file === 'notes.py')).toEqual([])
})

withPython('a file above 256 KB is told to be too large, and nobody reads it', async () => {
  const server = await started()
  writeFileSync(at('large.py'), `#${'x'.repeat(256 * 1024)}`)
  const { skipped } = await folderWhen(server, (body) => body.skipped.some(({ file }) => file === 'large.py'))
  expect(skipped.find(({ file }) => file === 'large.py')).toMatchObject({
    reason: 'MODULE_INVALID',
    kind: 'source_too_large',
    message: 'large.py: the file is 262,145 bytes; a module may have 262,144. Split it.',
    serving: null,
  })
})

function isHung({ file }: { readonly file: string }): boolean {
  return file === 'hung.py'
}

withPython('a file that waits for ever on import is given up, and held up no other', async () => {
  const server = await started()
  const ask = () => folderWhen(server, ({ skipped }) => skipped.some(isHung))
  const { skipped } = await ask().catch(ask).catch(ask)
  expect(skipped.find(isHung)).toMatchObject({
    reason: 'MODULE_BROKEN',
    kind: 'import_hung',
    message: expect.stringMatching(/^hung\.py, line 3: importing the module did not end within 20 s\. Move/),
  })
})
