import { expect, test } from '@jest/globals'
import { existsSync } from 'node:fs'
import {
  notPythonUnit,
  notUnit,
  pythonUnitFolders,
  unitFolders,
} from '../../scripts/toolchain/unit-tests.mjs'
import { ROOT } from '../support/source-tree.ts'

const folders = [...unitFolders, ...pythonUnitFolders]
const exceptions = [...notUnit, ...notPythonUnit]

test('every folder and exception of the unit tests is there, and every exception is in one of the folders', () => {
  expect([...folders, ...exceptions].filter((path) => !existsSync(new URL(path, ROOT)))).toEqual([])
  expect(exceptions.filter((path) => !folders.some((folder) => path.startsWith(`${folder}/`)))).toEqual([])
})
