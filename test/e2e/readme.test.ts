import { expect } from '@jest/globals'
import { execFile, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { ListedTool } from '@toolrack/contract'
import { sharedServerWithRunner } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const started = sharedServerWithRunner()

const README = readFileSync(join(root, 'README.md'), 'utf8')

/** The tool file that the README shows. */
const [, MODULE = ''] = /```python\n(.*?)```/s.exec(README) ?? []

/** The commands of the README that upload the file and use it, each as one line. */
function commands(): string[] {
  const text = README.replaceAll('\\\n', ' ')
  const found = text.match(/^curl .*$/gm) ?? []
  const first = found.findIndex((line) => line.includes('tools/modules/'))
  return found.slice(first, first + 3)
}

const hasCurl = spawnSync('curl', ['--version']).status === 0

withPython('the README uploads the example, lists its tools and calls one', async () => {
  expect(hasCurl).toBe(true)
  const server = await started()
  writeFileSync(join(server.data, 'greeter.py'), MODULE)
  async function run(line: string): Promise<unknown> {
    const command = line.replace('curl ', 'curl -sSf ').replaceAll('http://127.0.0.1:8787', server.url)
    const { stdout } = await promisify(execFile)('sh', ['-c', command], {
      cwd: server.data,
      env: { ...process.env, T: server.token },
    })
    return JSON.parse(stdout)
  }
  const [upload = '', list = '', call = ''] = commands()
  expect(await run(upload)).toMatchObject({ name: 'greeter', outcome: 'created' })
  const listed = (await run(list)) as ListedTool[]
  expect(listed.map((tool) => tool.function.name)).toEqual(['greeter:hello'])
  expect(await run(call)).toMatchObject({ resultType: 'success', textResultForLlm: 'Hello Ada!' })
})
