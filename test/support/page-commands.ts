import { execFile } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Server } from './server.ts'
import { ROOT } from './source-tree.ts'

const ADDRESS = 'http://127.0.0.1:8787'
const root = fileURLToPath(ROOT)

/** Commands of a page, what the page says that they print, and what it says that the terminal of the server then shows. */
export type PageStep = {
  readonly line: number
  readonly commands: string
  readonly printed: readonly string[]
  readonly terminal: readonly string[]
}

/** The ```sh blocks of a page, each with the ```text blocks before the next one. Messages to other programs are left out. */
export function stepsOf(page: string): readonly PageStep[] {
  const found = [...page.matchAll(/^```(sh|text)\n(.*?)^```$/gms)]
  const starts = found.flatMap(([, language], index) => (language === 'sh' ? [index] : []))
  return starts.map((start, step) => {
    const { index, 2: commands = '' } = found[start] as RegExpExecArray
    const texts = found.slice(start + 1, starts[step + 1]).map(([, , text = '']) => text)
    return {
      line: page.slice(0, index).split('\n').length,
      commands,
      printed: texts.filter((text) => !/^(?:call {2}|Toolrack |X-Toolrack-Signature: )/.test(text)),
      terminal: texts.filter((text) => /^(?:call {2}|Toolrack )/.test(text)),
    }
  })
}

/** The sections of a page with these titles, or the page without them. The line numbers of the page stay the same. */
export function sectionsOf(page: string, titles: readonly string[], which: 'only' | 'without'): string {
  let isNamed = false
  const lines = page.split('\n').map((line) => {
    const [, title] = /^## (.*)$/.exec(line) ?? []
    if (title !== undefined) isNamed = titles.includes(title)
    return isNamed === (which === 'only') ? line : ''
  })
  return lines.join('\n')
}

/** The sections of docs/how-to/write-a-tool.md whose commands need a package index. */
export const PACKAGE_SECTIONS: readonly string[] = ['Images and files', 'Use a package', 'Both']

/** Makes a folder a reader's: the data of the server and the sources are where a checkout has them. */
export function furnish(folder: string, server: Server): void {
  symlinkSync(server.data, join(folder, '.toolrack'))
  symlinkSync(join(root, 'functions'), join(folder, 'functions'))
}

/** A command of npm runs its script as it does in a checkout, for the server whose data folder this is. */
function npm(data: string): string {
  return `npm() { script="$2"; shift 3; INIT_CWD="$PWD" TOOLRACK_DATA="${data}" '${process.execPath}' "${root}scripts/$script.mjs" "$@"; }\n`
}

/**
 * Runs commands one after the other in one shell, as a reader does, until one fails. Only the address is replaced. Returns what each step
 * printed to stdout.
 */
export async function printedBy(
  steps: readonly PageStep[],
  folder: string,
  server: Server,
): Promise<readonly string[]> {
  const script = [npm(server.data), ...steps.map(({ commands }) => commands.replaceAll(ADDRESS, server.url))]
  const { stdout } = await promisify(execFile)('sh', ['-ec', script.join("printf '\\0'\n")], { cwd: folder })
  return stdout
    .split('\0')
    .slice(1)
    .map((text) => masked(text.replaceAll('\r', '').trimEnd()))
}

/** The banner of the server, and what its terminal has shown since these lengths of its outputs. */
export function terminalOf(server: Server, said: number, logged: number): string {
  const [banner = ''] = /^[^]*Ctrl-C stops the server\.\n/.exec(server.said) ?? []
  const shown = `${banner}${server.said.slice(said)}${server.log.slice(logged)}`
  return masked(shown.replaceAll(server.url, ADDRESS))
}

/** What differs from call to call or from machine to machine, each with what stands for it. */
const VARYING: readonly (readonly [RegExp, string])[] = [
  [/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>'],
  [/\d+(?:\.\d+)? ms/g, '<duration>'],
  [/"isolation":"L\d"/g, '<isolation>'],
]

function masked(text: string): string {
  return VARYING.reduce((current, [pattern, word]) => current.replaceAll(pattern, word), text)
}

/** The pattern of what a page shows. There, `…` is a text, `{…}` any object, and a line of JSON may be broken before a space. */
export function patternOf(shown: string): string {
  const joined = /^[[{]/.test(shown) ? shown.replaceAll(/\n /g, '') : shown
  const parts = masked(joined).trim().split('…')
  return parts
    .map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`))
    .join('.+')
    .replaceAll(String.raw`\{.+\}`, String.raw`\{.*\}`)
}
