import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { checkNode } from '../../../../functions/src/hosts/cloud/check-node.ts'
import { ROOT } from '../../../support/source-tree.ts'

const EMULATOR = { FUNCTIONS_EMULATOR: 'true' }
const { engines } = JSON.parse(readFileSync(new URL('functions/package.json', ROOT), 'utf8')) as {
  engines: { node: string }
}

test('in the emulator, a Node older than that of the manifest is refused with what to do', () => {
  const older = `${Number(engines.node) - 1}.9.9`
  expect(() => checkNode(older, EMULATOR)).toThrow(
    new RegExp(`^the functions need Node ${engines.node}, and this is Node ${older}: .*npm run dev`),
  )
  expect(() => checkNode(`${engines.node}.0.0`, EMULATOR)).not.toThrow()
})

test('a deployment may be made with any Node', () => {
  expect(() => checkNode('20.0.0', {})).not.toThrow()
})
