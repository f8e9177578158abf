import { describe, expect, test } from '@jest/globals'
import { ERROR_CODES } from '@toolrack/contract'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { TABLE as SETTINGS } from '../../functions/src/hosts/config.ts'
import { fileKey, isSecret } from '../../functions/src/hosts/settings/config-file.ts'
import type { Table } from '../../functions/src/settings/variables.ts'
import { TOKEN_FILES } from '../../functions/src/access/local-token.ts'
import { DATABASE_LIST, DATABASE_NAMES } from '../../functions/src/hosts/local/lost-database.ts'
import { RUNNING_CALLS } from '../../functions/src/hosts/local/running-calls-file.ts'
import { EXIT } from '../../functions/src/hosts/local/start-error.ts'
import { TABLE } from '../support/route-table.ts'

type ShippedFile = {
  readonly family: string
  readonly tools: readonly { readonly function: { readonly name: string } }[]
}

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const JAIL = 'python-runner/toolrack_runner/child/jail/README.md'
/** The cells of a Markdown table's rows whose first cell is code. */
const rows = (text: string): string[][] =>
  text.split('\n').flatMap((line) =>
    /^\| \[?`/.test(line)
      ? [
          line
            .split('|')
            .slice(1, -1)
            .map((cell) => cell.trim()),
        ]
      : [],
  )

/** The table whose first column has this heading. */
const tableOf = (text: string, heading: string): string => {
  const [table = ''] = text.slice(text.indexOf(`| ${heading} |`)).split('\n\n')
  return table
}

test('docs/reference/errors.md has a row for each error code, with its status, retry and meaning, and for no other', () => {
  const table = rows(read('docs/reference/errors.md'))
  expect(table.filter(({ length, 3: meaning }) => length !== 5 || meaning === '')).toEqual([])
  const documented = table.map(([code, status, retry]) => [code?.replaceAll('`', ''), Number(status), retry])
  const known = Object.entries(ERROR_CODES).map(([code, kind]) => [
    code,
    kind.httpStatus,
    kind.retry ? 'yes' : 'no',
  ])
  expect(documented.toSorted()).toEqual(known.toSorted())
})

test('the first table of docs/reference/http.md has each route, and no other', () => {
  const [table] = read('docs/reference/http.md').split('<!-- end -->')
  const documented = [...(table ?? '').matchAll(/^\| \[`([A-Z]+ \/[^`]*)`\]/gm)].map(([, route]) => route)
  const known = TABLE.map(({ method, path }) => `${method} ${path}`)
  expect(documented.toSorted()).toEqual(known.toSorted())
})

test('docs/reference/http.md names each header of an answer that pages of other origins may read', () => {
  const [, exposed = ''] =
    /exposedHeaders:\s*'([^']+)'/.exec(read('functions/src/http/serve-routes.ts')) ?? []
  const page = read('docs/reference/http.md')
  expect(exposed.split(',').filter((header) => !page.includes(`\`${header}\``))).toEqual([])
})

test('docs/reference/configuration.md has each variable, with its key in the file and the type of its value, and no other', () => {
  const text = read('docs/reference/configuration.md')
  const expected = Object.entries(SETTINGS as Table).map(([name, { notInFile, fileType = 'text' }]) => {
    const key = `\`${fileKey(name)}\`${fileType === 'text' ? '' : ` ${fileType}`}`
    return [`\`${name}\``, notInFile === undefined ? key : 'no']
  })
  const documented = rows(tableOf(text, 'variable'))
  expect(documented.map(([name, key]) => [name, key])).toEqual(expected)
  for (const [index, value] of Object.values(SETTINGS as Table)
    .map((read) => read(undefined))
    .entries())
    if (typeof value === 'number') expect(documented[index]?.[2]).toBe(`\`${value}\``)
})

test('docs/how-to/deploy.md quotes what the service says about a runner that does not answer', () => {
  const [, table = ''] = read('docs/how-to/deploy.md').split('| `/health` or a call says | what to do |\n')
  const quoted = Array.from(
    table.split('\n\n')[0]?.matchAll(/^\| ([^|-]+) \|/gm) ?? [],
    ([, text = '']) => text,
  )
  const folders = ['functions/src/platform/cloud-run', 'functions/src/platform/runner']
  const source = folders.flatMap(files).map(read).join('\n')
  expect(quoted.length).toBe(5)
  expect(quoted.filter((text) => !source.includes(text))).toEqual([])
})

test('docs/reference/configuration.md has each file of the data folder', () => {
  const text = read('docs/reference/configuration.md')
  const named: readonly string[] = tableOf(text, 'file').match(/(?<=`)[^`]+(?=`)/g) ?? []
  const [, literals = ''] = /^const DATABASES = ([^]+?)^const withUnfinished/m.exec(
    read('functions/src/hosts/local/private-files.ts'),
  ) ?? ['']
  const known = [
    ...Array.from(literals.matchAll(/'([\w.-]+)'/g), ([, name]) => name),
    ...DATABASE_NAMES,
    ...Object.values(TOKEN_FILES),
    DATABASE_LIST,
    RUNNING_CALLS,
  ]
  expect(known.length).toBeGreaterThan(12)
  expect(known.filter((name) => name !== undefined && !named.includes(name))).toEqual([])
})

test('docs/how-to/run.md has each exit code, and no other', () => {
  const codes = [...read('docs/how-to/run.md').matchAll(/^\| (\d+) \|/gm)].map(([, code]) => Number(code))
  expect(codes).toEqual([0, ...Object.values(EXIT)].toSorted((a, b) => a - b))
})

test('docs/reference/configuration.md names each key of the file that is treated as a secret', () => {
  const [, sentence = ''] =
    /Keep the secrets out of the file [^:]+: (.+)\./.exec(read('docs/reference/configuration.md')) ?? []
  const secrets = Object.entries(SETTINGS as Table).flatMap(([name, { notInFile }]) =>
    notInFile === undefined && isSecret(name) ? [fileKey(name)] : [],
  )
  expect([...sentence.matchAll(/`(\w+)`/g)].map(([, key]) => key).toSorted()).toEqual(secrets.toSorted())
})

test('each page of docs/ is linked in docs/README.md', () => {
  const index = read('docs/README.md')
  const pages = markdown('docs').filter((path) => !/^docs\/(?:README\.md$|decisions\/)/.test(path))
  expect(pages.filter((path) => !new RegExp(`\\]\\(${relative('docs', path)}[#)]`).test(index))).toEqual([])
  expect(read('README.md')).toContain('](docs/README.md)')
})

test('the commands of docs/how-to/choose-tools.md about sessions and scopes name tools and categories of a new service', () => {
  const folder = 'functions/workflows/tools/defs'
  const files = readdirSync(join(ROOT, folder)).map(
    (name) => JSON.parse(read(join(folder, name))) as ShippedFile,
  )
  const shipped = new Set(
    files.flatMap(({ family, tools }) => [`@${family}`, ...tools.map((tool) => tool.function.name)]),
  )
  const [, selection = ''] = /"selection":(\[[^\]]+\])/.exec(read('docs/how-to/choose-tools.md')) ?? []
  const [, scope = ''] = /'scope=([^']+)'/.exec(read('docs/how-to/choose-tools.md')) ?? []
  const named = [
    ...(JSON.parse(selection) as string[]),
    ...scope.split(',').map((item) => item.replace('!', '')),
  ]
  expect(named.filter((name) => !shipped.has(name))).toEqual([])
})

test('each page and example of docs/ that code, scripts and tests name exists', () => {
  const folders = ['functions/src', 'packages', 'python-runner', 'scripts', 'test', 'bench'].flatMap(files)
  const named = folders
    .filter((path) => /(?:\.(?:ts|mjs|py|md)|Dockerfile)$/.test(path))
    .flatMap((path) =>
      Array.from(
        read(path).matchAll(/\bdocs\/[\w/-]+\.(?:md|mjs|py|yaml)\b/g),
        ([name]) => [path, name] as const,
      ),
    )
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter(([, name]) => !existsSync(join(ROOT, name)))).toEqual([])
})

test('each npm command that a page names is in package.json', () => {
  const { scripts } = JSON.parse(read('package.json')) as {
    readonly scripts: Readonly<Record<string, string>>
  }
  const pages = ['README.md', 'CONTRIBUTING.md', ...markdown('docs')]
  const named = pages.flatMap((page) =>
    Array.from(
      read(page).matchAll(/\bnpm run (?:--silent )?([\w-]+)/g),
      ([, name = '']) => [page, name] as const,
    ),
  )
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter(([, name]) => !Object.hasOwn(scripts, name))).toEqual([])
})

test('docs/decisions/0002-dependencies.md names each dependency', () => {
  type Manifest = Record<'dependencies' | 'devDependencies', Readonly<Record<string, string>> | undefined>
  const ours = [
    'package.json',
    'functions/package.json',
    'packages/client/package.json',
    'packages/contract/package.json',
  ]
  const manifests = ours.map((path) => JSON.parse(read(path)) as Manifest)
  const packages = manifests.flatMap((each) => Object.keys({ ...each.dependencies, ...each.devDependencies }))
  const files = [
    'python-runner/requirements.in',
    'python-runner/requirements-dev.in',
    'bench/python/requirements.in',
  ]
  const wheels = files.flatMap((path) => [...read(path).matchAll(/^[\w-]+(?===)/gm)].map(([name]) => name))
  const text = read('docs/decisions/0002-dependencies.md')
  const words = new Set(text.split(/[\s,();`|]+/).map((word) => word.replace(/\.$/, '')))
  const isNamed = (name: string): boolean =>
    words.has(name) || (name.startsWith('@types/') && words.has('@types/*'))
  expect(wheels.length).toBeGreaterThan(0)
  expect([...packages, ...wheels].filter((name) => !isNamed(name))).toEqual([])
})

test('docs/reference/module-faults.md names each kind of fault that the service finds in a module, and its code', () => {
  const guide = read('docs/reference/module-faults.md')
  const codes = rows(tableOf(guide, 'code')).map(([code]) => code?.replaceAll('`', ''))
  expect(codes.filter((code) => code === undefined || !Object.hasOwn(ERROR_CODES, code))).toEqual([])
  const documented = ['kind of the service', 'kind in a folder'].flatMap((heading) =>
    rows(tableOf(guide, heading)).map(([kind]) => kind?.replaceAll('`', '')),
  )
  const sources = ['functions/src/features/folder', 'functions/src/catalog/definitions'].flatMap((folder) =>
    readdirSync(join(ROOT, folder)).map((name) => read(join(folder, name))),
  )
  const kinds = [...sources.join('\n').matchAll(/(?:\bkind: |faulty\([^']*)'([a-z]+_[a-z_]+)'/g)]
  const own = kinds.map(([, kind]) => kind).filter((kind) => kind !== 'import_not_installed')
  expect(new Set(documented)).toEqual(new Set(own))
})

describe('links', () => {
  const others = [
    'CHANGELOG',
    'CONTRIBUTING',
    'README',
    'bench/README',
    'bench/RESULTS',
    'packages/client/README',
  ]
  const runner = ['python-runner/README.md', JAIL]
  const pages = [...others.map((name) => `${name}.md`), ...runner, ...markdown('docs')]

  test.each(pages)('every link of %s leads to a file, and every anchor to a heading', (page) => {
    const links = [...read(page).matchAll(/\]\(([^)]+)\)/g)]
      .map(([, link]) => link ?? '')
      .filter((link) => !/^https?:/.test(link))
    for (const link of links) {
      const [path, anchor] = link.split('#')
      const target = path ? join(ROOT, dirname(page), path) : join(ROOT, page)
      expect([page, link, existsSync(target)]).toEqual([page, link, true])
      if (anchor) expect(headings(readFileSync(target, 'utf8'))).toContain(anchor)
    }
  })
})

/** What is built, and the folders of modules in examples, are not in the repository. */
test('every file that a page names exists', () => {
  const known = [
    '.',
    '.vscode',
    'bench',
    'docs',
    'functions',
    'packages',
    'python-runner',
    'scripts',
    'test',
  ].flatMap(files)
  const missing = [
    'README.md',
    'CONTRIBUTING.md',
    'python-runner/README.md',
    JAIL,
    ...markdown('docs'),
  ].flatMap((page) =>
    Array.from(
      read(page).matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.(?:ts|py|mjs|json|yaml|md))`/g),
      ([, name = '']) => name,
    )
      .filter(
        (name) =>
          !/^(?:dist|weather|a)\//.test(name) && !known.some((path) => `/${path}`.endsWith(`/${name}`)),
      )
      .map((name) => `${page}: ${name}`),
  )
  expect(missing).toEqual([])
})

/** The files below a folder of the repository, by their paths; of the root itself, those that lie in it. */
function files(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isFile()) return [path]
    return folder === '.' || /^(?:node_modules|\.venv|\.toolrack|dist)$/.test(entry.name) ? [] : files(path)
  })
}

function markdown(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name))
}

function headings(text: string): string[] {
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    (heading ?? '')
      .toLowerCase()
      .replaceAll(/[^a-z0-9 -]/g, '')
      .replaceAll(' ', '-'),
  )
}

test('docs/explanation/architecture.md lists the steps of a call as the pipeline does', () => {
  const source = read('functions/src/calls/pipeline/steps.ts')
  const steps = Array.from(source.matchAll(/\.(?:step|optional|run)\('([^']+)'/g), ([, name]) => name)
  const [, section = ''] = read('docs/explanation/architecture.md').split('## How a call is run')
  const listed = Array.from(
    section.split('\n## ')[0]?.matchAll(/^\d+\. \*\*(.+?)\.\*\*/gm) ?? [],
    ([, name]) => name?.toLowerCase(),
  )
  expect(steps.length).toBeGreaterThan(5)
  expect(listed).toEqual(steps)
})

test('each walk of docs/explanation/architecture.md has at most ten stations, whose files have the functions that it names', () => {
  const [, section = ''] = read('docs/explanation/architecture.md').split('## Three walks')
  const [, ...walks] = (section.split('\n## ')[0] ?? '').split('\n### ')
  expect(walks).toHaveLength(3)
  for (const walk of walks) {
    const stations = walk.match(/^\d+\. /gm) ?? []
    expect(stations.length).toBeGreaterThan(5)
    expect(stations.length).toBeLessThanOrEqual(10)
    for (const [, file = '', names = ''] of walk.matchAll(/`([\w/-]+\.(?:ts|py))`(?:\s+\(([^)]*)\))?/g)) {
      const folder = file.endsWith('.py') ? 'python-runner/toolrack_runner' : 'functions/src'
      const source = read(join(folder, file))
      for (const [, name = ''] of names.matchAll(/`(\w+)`/g))
        expect([file, source]).toEqual([file, expect.stringMatching(new RegExp(`\\b${name}\\b`))])
    }
  }
})
