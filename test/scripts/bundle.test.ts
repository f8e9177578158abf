import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { bundle } from '../../scripts/toolchain/build-functions.mjs'

let root = ''

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'toolrack-bundle-'))
  write('functions/package.json', '{"type":"module","dependencies":{"express":"5.3.0","ajv":"8.20.0"}}')
  write('node_modules/@toolrack/contract/package.json', '{"type":"module","exports":"./index.ts"}')
  write(
    'node_modules/@toolrack/contract/index.ts',
    `import { sha256 } from '@noble/hashes'\nexport const digest: string = sha256('ours')\n`,
  )
  write('node_modules/@noble/hashes/package.json', '{"type":"module","exports":"./index.js"}')
  write('node_modules/@noble/hashes/index.js', `export const sha256 = (text) => 'hash of ' + text\n`)
  write(
    'functions/src/local.ts',
    `import express from 'express'
     import { digest } from '@toolrack/contract'
     import { join } from 'node:path'
     console.log(express, digest, join('a', 'b'), new URL('./schema-worker.js', import.meta.url))`,
  )
  write(
    'functions/src/index.ts',
    `import { digest } from '@toolrack/contract'\nexport const workflows = digest\n`,
  )
  write('functions/src/declaration.ts', `export const declared = 1\n`)
  write('functions/src/catalog/schemas/argument-worker.ts', `import { Ajv } from 'ajv'\nconsole.log(Ajv)\n`)
  write('functions/src/catalog/schemas/validate-arguments.ts', `export const validate = 1\n`)
  write(
    'functions/src/catalog/schemas/schema-worker.ts',
    `import { Ajv } from 'ajv/dist/2020.js'\nconsole.log(Ajv)\n`,
  )
})

afterEach(() => {
  rmSync(root, { recursive: true })
})

function write(path: string, text: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}

function importsOf(path: string): string[] {
  const text = readFileSync(join(root, path), 'utf8')
  return [...text.matchAll(/(?:from|import) ?\(?"([^"]+)"/g)].map((match) => match[1] ?? '').toSorted()
}

test('the bundle imports what the deploy manifest names and Node itself; all else is inside', async () => {
  await bundle(join(root, 'functions'))
  expect(importsOf('functions/dist/local.js')).toEqual(['express', 'node:path'])
  expect(importsOf('functions/dist/schema-worker.js')).toEqual(['ajv/dist/2020.js'])
  expect(readFileSync(join(root, 'functions/dist/local.js'), 'utf8')).toContain('hash of ')
})

test('the entries lie flat in dist, each with its source map', async () => {
  await bundle(join(root, 'functions'))
  expect(readdirSync(join(root, 'functions/dist')).toSorted()).toEqual(
    ['argument-worker', 'declaration', 'index', 'local', 'schema-worker', 'validate-arguments'].flatMap(
      (name) => [`${name}.js`, `${name}.js.map`],
    ),
  )
})

test('the schemas of routes are not in the bundle, so that it does not import zod', async () => {
  write(
    'functions/src/index.ts',
    `export const route = { schemas: async () => (await import('./a-schemas.ts')).A }\n`,
  )
  write('functions/src/a-schemas.ts', `import { z } from 'zod'\nexport const A = z.string()\n`)
  await bundle(join(root, 'functions'))
  expect(importsOf('functions/dist/index.js')).toEqual(['./a-schemas.ts'])
})

test('an import that is neither in the manifest nor to be found fails the build', async () => {
  write('functions/src/local.ts', `import 'nowhere-to-be-found'\n`)
  const failing = bundle(join(root, 'functions'), { logLevel: 'silent' })
  await expect(failing).rejects.toThrow('nowhere-to-be-found')
  expect(existsSync(join(root, 'functions/dist/local.js'))).toBe(false)
})
