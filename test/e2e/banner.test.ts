import { expect } from '@jest/globals'
import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import type { ListedTool } from '@toolrack/contract'
import { banner } from '../../functions/src/local/banner.ts'
import { Server } from '../support/server.ts'
import { testWhere } from '../support/test-where.ts'

async function run(line: string): Promise<string> {
  return (await promisify(execFile)('sh', ['-c', line.replace('curl ', 'curl -sSf ')])).stdout
}

const withCurl = testWhere(
  spawnSync('curl', ['--version']).status === 0,
  'curl is missing: the printed lines can not be tried.',
)

withCurl(
  'the three printed lines list the tools, define one and list it again; after kill -9 it is still there',
  async () => {
    await using server = await Server.start()
    const lines = banner(server, 0).match(/^ {2}curl .+$/gm) ?? []
    expect(lines).toHaveLength(3)
    const [listAll = '', define = '', listOne = ''] = lines
    const before = JSON.parse(await run(listAll)) as ListedTool[]
    expect(before.map((listed) => listed.function.name)).toContain('READ_FILE')
    expect(JSON.parse(await run(define))).toMatchObject({ name: 'SAY_HELLO', outcome: 'created' })
    const after = await run(listOne)
    expect(JSON.parse(after)).toMatchObject([{ function: { name: 'SAY_HELLO' } }])
    await server.kill9()
    await server.restart()
    expect(await (await server.fetch('/workflows/tools/list?names=SAY_HELLO')).text()).toBe(after)
  },
)
