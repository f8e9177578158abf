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
/** A constant that is an object with several limits. */
const OBJECT = /^(?:export )?const ([A-Z_][A-Z0-9_]*)(?:: \w+)? = \{([^{}]*)\}/gm
const CONSTANT = /^(?:(?:export )?const )?([A-Z_][A-Z0-9_]*)(?:: [\w.[\]]+)? = (.+)$/gm

/**
 * Every limit in the code with its value, as `["access/claims.ts NAME", 5]`. The path is relative to the source folder of its
 * part, or `NAME.key` for a limit in an object. A limit is a number, or computed by + - * / ** << from numbers and other constants
 * of its file. Other values are ignored.
 */
export function limitsInCode(root: string): [string, number][] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.(?:ts|py)$/.test(name))
      .flatMap((name) => limitsOf(readFileSync(join(root, folder, name), 'utf8'), name)),
  )
}

function limitsOf(text: string, file: string): [string, number][] {
  const values = new Map<string, number>()
  for (const [, name = '', expression = ''] of text.matchAll(CONSTANT)) {
    const value = valueOf(expression.replace(file.endsWith('.py') ? /\s+#.*$/ : /\s+\/\/.*$/, ''), values)
    if (value !== undefined) values.set(name, value)
  }
  for (const [, name = '', members = ''] of text.matchAll(OBJECT)) {
    for (const [, key, expression = ''] of members.matchAll(/(\w+): ([^,\n]+)/g)) {
      const value = valueOf(expression.trim(), values)
      if (value !== undefined) values.set(`${name}.${key}`, value)
    }
  }
  return [...values]
    .filter(([name]) => LIMIT.test(name.split('.')[0] ?? ''))
    .map(([name, value]) => [`${file} ${name}`, value])
}

/** TypeScript and Python write numbers, sums, products, powers and shifts the same way. */
function valueOf(expression: string, values: ReadonlyMap<string, number>): number | undefined {
  const known = expression.replaceAll(/\b[A-Z_][A-Z0-9_]*\b/g, (name) => String(values.get(name) ?? name))
  if (!/^[\d(][\d_.\s()*+<-]*(?: \/ \d+)?$/.test(known) || known.endsWith('(')) return undefined
  const value: unknown = runInNewContext(known)
  return typeof value === 'number' ? value : undefined
}
