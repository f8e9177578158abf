import { cpSync, existsSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from './temporary-folder.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A copy of the source of `functions/` in a folder of its own, with an empty folder of definitions. */
export function copyOfFunctions() {
  const folder = temporaryFolder()
  const functions = join(folder.path, 'functions')
  for (const name of ['src', 'package.json', 'workflows/tools/own'])
    cpSync(join(ROOT, 'functions', name), join(functions, name), { recursive: true })
  for (const name of ['node_modules', 'functions/node_modules'])
    if (existsSync(join(ROOT, name))) symlinkSync(join(ROOT, name), join(folder.path, name), 'junction')
  const definitions = join(functions, 'workflows/tools/defs')
  for (const path of [join(functions, 'dist'), definitions]) mkdirSync(path, { recursive: true })
  return { root: folder.path, functions, definitions, [Symbol.dispose]: () => folder[Symbol.dispose]() }
}
