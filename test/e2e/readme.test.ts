import { expect } from '@jest/globals'
import { execFile, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { ListedTool } from '@toolrack/contract'
import { sharedServerWithRunner } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const started = sharedServerWithRunner()

/** The commands of the README that upload a module and use it, each as one line. */
function commands(): string[] {
  const text = readFileSync(`${root}/README.md`, 'utf8').replaceAll('\\\n', ' ')
  const found = text.match(/^curl .*$/gm) ?? []
  const first = found.findIndex((line) => line.includes('tools/modules/'))
  return found.slice(first, first + 3)
}

const hasCurl = spawnSync('curl', ['--version']).status === 0

withPython('the README uploads the example, lists its tools and calls one', async () => {
  expect(hasCurl).toBe(true)
  const server = await started()
  async function run(line: string): Promise<unknown> {
    const command = line.replace('curl ', 'curl -sSf ').replaceAll('http://127.0.0.1:8787', server.url)
    const { stdout } = await promisify(execFile)('sh', ['-c', command], {
      cwd: root,
      env: { ...process.env, T: server.token },
    })
    return JSON.parse(stdout)
  }
  const [upload = '', list = '', call = ''] = commands()
  expect(await run(upload)).toMatchObject({ name: 'weather', outcome: 'created' })
  const listed = (await run(list)) as ListedTool[]
  expect(listed.map((tool) => tool.function.name)).toEqual(['weather:get_report', 'weather:get_temperatures'])
  expect(await run(call)).toMatchObject({
    resultType: 'success',
    textResultForLlm: 'Bern: cloudy for 1 day(s).',
  })
})
