import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'

const FOLDERS = [
  'functions/src',
  'packages/contract/src',
  'packages/client/src',
  'python-runner/toolrack_runner',
]

/** A constant at the top of a file whose name says that it is a limit. */
const LIMIT = /(?:_MAX|_KEPT|AT_ONCE|_PER_USER|_PER_PLACE|DEADLINE_MS|DEADLINE_SECONDS)$/
/** The beginning of a constant that is an object with several numbers, perhaps in objects. */
const OBJECT = /^(?:export )?const ([A-Z_][A-Z0-9_]*)(?:: \w+)? = \{/gm
const CONSTANT = /^(?:(?:export )?const )?([A-Z_][A-Z0-9_]*)(?:: [\w.[\]]+)? = (.+)$/gm

type File = { readonly path: string; readonly text: string }

/**
 * Every constant in the code that is a number, with its value, by `access/claims.ts NAME`, or `NAME.key` for a number in an object.
 * The path is relative to the source folder of its part. A number may be computed by + - * / ** << from numbers and other constants of
 * its file. Other values are ignored.
 */
export function constantsInCode(root: string): ReadonlyMap<string, number> {
  return new Map(files(root).flatMap(({ path, text }) => constantsOf(text, path)))
}

/** The limits in the code that have no comment above or beside them, as `access/claims.ts NAME`. An object has one for all its limits. */
export function limitsWithoutComment(root: string): string[] {
  return files(root).flatMap((file) => limitsOf(file).filter((name) => !hasComment(file, name)))
}

/** The names of all limits, those in an object by the name of the object. */
export function limitsInCode(root: string): string[] {
  return files(root).flatMap(limitsOf)
}

function files(root: string): File[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => /\.(?:ts|py)$/.test(path))
      .map((path) => ({ path, text: readFileSync(join(root, folder, path), 'utf8') })),
  )
}

function limitsOf({ path, text }: File): string[] {
  const names = constantsOf(text, path).map(([name]) => name.split('.').slice(0, 2).join('.'))
  return [...new Set(names.map((name) => name.replace(/(?<= \w+)\.\w+$/, '')))].filter((name) =>
    LIMIT.test(name),
  )
}

/** True if the constant's line has a comment, or the line above it is one or the end of one. */
function hasComment({ path, text }: File, limit: string): boolean {
  const [, name = ''] = limit.split(' ')
  const lines = text.split('\n')
  const at = lines.findIndex((line) =>
    new RegExp(`^(?:(?:export )?const )?${name}(?:: [^=]+)? = `).test(line),
  )
  const [above = '', line = ''] = lines.slice(at - 1)
  if (path.endsWith('.py')) return above.startsWith('#') || /\s#/.test(line)
  return /^\/\/|^\/\*\*.*\*\/$|^ \*\/$/.test(above) || /\/\/|\/\*/.test(line)
}

function constantsOf(text: string, file: string): [string, number][] {
  const values = new Map<string, number>()
  const comment = file.endsWith('.py') ? /\s+#.*$/ : /\s+\/\/.*$/
  for (const [, name = '', expression = ''] of text.matchAll(CONSTANT)) {
    const value = valueOf(expression.replace(comment, ''), values)
    if (value !== undefined) values.set(name, value)
  }
  if (file.endsWith('.py')) return named(values, file)
  for (const {
    0: { length },
    1: name = '',
    index,
  } of text.matchAll(OBJECT)) {
    addMembers(values, name, text.slice(index + length))
  }
  return named(values, file)
}

/** Adds the numbers of an object, and of the objects in it. The text begins behind its first brace. */
function addMembers(values: Map<string, number>, name: string, text: string): void {
  const path = [name]
  const code = text.replaceAll(/\/\/.*$|\/\*[^]*?\*\//gm, '')
  for (const [, inner, key, expression = ''] of code.matchAll(/(\w+): \{|(\w+): ([^,{}\n]+)|\}/g)) {
    if (inner) path.push(inner)
    else if (key) {
      const value = valueOf(expression.trim(), values)
      if (value !== undefined) values.set([...path, key].join('.'), value)
    } else path.pop()
    if (path.length === 0) return
  }
}

function named(values: ReadonlyMap<string, number>, file: string): [string, number][] {
  return [...values].map(([name, value]) => [`${file} ${name}`, value])
}

/** TypeScript and Python write numbers, sums, products, powers and shifts the same way. */
function valueOf(expression: string, values: ReadonlyMap<string, number>): number | undefined {
  const known = expression.replaceAll(/\b[A-Z_][A-Z0-9_]*\b/g, (name) => String(values.get(name) ?? name))
  if (!/^[\d(][\d_.\s()*+<-]*(?: \/ \d+)?$/.test(known) || known.endsWith('(')) return undefined
  const value: unknown = runInNewContext(known)
  return typeof value === 'number' ? value : undefined
}
