import { expect } from '@jest/globals'
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { sharedServerWithRunner } from '../support/modules.ts'
import { partsOf } from '../support/page-commands.ts'
import { withPython } from '../support/runner-environment.ts'
import type { Server } from '../support/server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const ADDRESS = 'http://127.0.0.1:8787'
const started = sharedServerWithRunner()

/** Commands of a page, what a page says that they print, and what it says that the terminal of the server shows. */
type Block = { readonly kind: 'commands' | 'printed' | 'terminal'; readonly text: string }

function blocks(page: string): Block[] {
  const found = readFileSync(join(ROOT, page), 'utf8').matchAll(/^```(sh|text)\n(.*?)^```$/gms)
  return Array.from(found, ([, language, text = '']) => {
    if (language === 'sh') return { kind: 'commands', text }
    return { kind: /^(?:call {2}|Toolrack )/.test(text) ? 'terminal' : 'printed', text }
  })
}

/** What differs from call to call or from machine to machine, each with what stands for it. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>'],
  [/\d+(?:\.\d+)? ms/g, '<duration>'],
  [/"isolation":"L\d"/g, '<isolation>'],
]

const masked = (text: string): string =>
  VARYING.reduce((current, [pattern, word]) => current.replaceAll(pattern, word), text)

/** Matches what a page shows. There, `…` stands for what is left out, and a line of JSON may be broken before a space. */
function shownBy({ kind, text }: Block): RegExp {
  const joined = /^[[{]/.test(text) ? text.replaceAll(/\n /g, '') : text
  const parts = partsOf(masked(joined).trim())
  return new RegExp(kind === 'printed' ? `^${parts.join('.*')}$` : parts.join('.*'))
}

/**
 * Runs all commands of a page in one shell, in a folder that has the token where a checkout has it. Only the address is replaced, and npm
 * runs the script as it does in a checkout. Returns what each block printed to stdout.
 */
async function printedBy(server: Server, folder: string, commands: readonly Block[]): Promise<string[]> {
  mkdirSync(join(folder, '.toolrack'))
  cpSync(join(server.data, 'token'), join(folder, '.toolrack/token'))
  const npm = `npm() { shift 3; INIT_CWD="$PWD" '${process.execPath}' '${join(ROOT, 'scripts/tool.mjs')}' "$@"; }\n`
  const script = [npm, ...commands.map(({ text }) => text.replaceAll(ADDRESS, server.url))]
  const { stdout } = await promisify(execFile)('sh', ['-c', script.join("printf '\\0'\n")], { cwd: folder })
  return stdout.split('\0').slice(1)
}

/** True for commands that the test runs. The server is started by the test itself. */
function isRun({ kind, text }: Block): boolean {
  return kind === 'commands' && !text.includes('npm start')
}

async function expectAsShown(page: string): Promise<void> {
  using folder = temporaryFolder()
  const server = await started()
  const shown = blocks(page)
  const outputs = await printedBy(server, folder.path, shown.filter(isRun))
  // The page has commands that are run, and outputs to compare.
  expect(outputs.length).toBeGreaterThan(2)
  expect(shown.filter(({ kind }) => kind === 'printed').length).toBeGreaterThan(2)
  let printed = ''
  for (const block of shown) {
    if (isRun(block)) printed = masked(outputs.shift() ?? '')
    if (block.kind === 'printed') expect(printed.trim()).toMatch(shownBy(block))
    if (block.kind === 'terminal') {
      const terminal = (): string => masked(`${server.said}${server.log}`).replaceAll(server.url, ADDRESS)
      await until(
        () => Promise.resolve(terminal()),
        (text) => shownBy(block).test(text),
      )
    }
  }
}

withPython('docs/tutorial.md: each command prints what is shown, and so does the server', () =>
  expectAsShown('docs/tutorial.md'),
)

withPython('docs/how-to/write-a-tool.md: each command prints what is shown', () =>
  expectAsShown('docs/how-to/write-a-tool.md'),
)
