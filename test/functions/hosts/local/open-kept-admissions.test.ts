import { expect, test } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { appendFileSync, cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))

test('a change of the code or of the packages is another program, and nothing else is', () => {
  using checkout = temporaryFolder()
  const at = (path: string): string => join(checkout.path, path)
  for (const path of ['functions/src', 'functions/package.json', 'packages/contract/src'])
    cpSync(join(ROOT, path), at(path), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), at('node_modules'))

  function digest(): string {
    const file = JSON.stringify(at('functions/src/hosts/local/open-kept-admissions.ts'))
    const program = `import(${file}).then(({ programDigest }) => process.stdout.write(programDigest()))`
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', program], { encoding: 'utf8' })
    if (!/^[0-9a-f]{64}$/.test(stdout)) throw new Error(stderr)
    return stdout
  }

  const digests = [digest()]
  appendFileSync(at('functions/src/hosts/local/banner.ts'), '\n')
  expect(digest()).toBe(digests[0])
  for (const path of [
    'functions/src/catalog/schemas/compile-schema.ts',
    'functions/src/stores/files/read-definition-file.ts',
    'packages/contract/src/tool-name.ts',
    'functions/package.json',
  ]) {
    appendFileSync(at(path), '\n')
    digests.push(digest())
  }
  expect(new Set(digests).size).toBe(5)
})
