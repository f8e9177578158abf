import { expect, test } from '@jest/globals'
import { resolve } from 'node:path'
import { parseConfig } from '../../../functions/src/hosts/config.ts'

test('the folder of modules is the one that is named, else the two of the home, else none', () => {
  expect(parseConfig({ TOOLRACK_TOOLS_DIR: 'tools', HOME: '/home/ada' }).toolsFolders).toEqual({
    paths: [resolve('tools')],
    isNamed: true,
  })
  for (const TOOLRACK_TOOLS_DIR of [undefined, ''])
    expect(parseConfig({ TOOLRACK_TOOLS_DIR, HOME: '/home/ada' }).toolsFolders).toEqual({
      paths: ['/home/ada/.toolrack/tools', '/home/ada/.copilot-web/tools'],
      isNamed: false,
    })
  expect(parseConfig({}).toolsFolders.paths).toEqual([])
})
