import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Server } from './server.ts'

/** Commands of a page, and what the page says that they print. */
export type Commands = {
  readonly line: number
  readonly text: string
  /** Undefined if the page shows nothing. */
  readonly shown: string | undefined
}

/** The ```sh blocks of a page, each with the ```text block directly after it. */
export function commandsOf(page: string): readonly Commands[] {
  const blocks = page.matchAll(/^```sh\n(.*?)\n```\n(?:\n```text\n(.*?)\n```\n)?/gms)
  return Array.from(blocks, ({ index, 1: text = '', 2: shown }) => ({
    line: page.slice(0, index).split('\n').length,
    text,
    shown,
  }))
}

/** Runs the commands one after the other in one shell, as a reader does, and returns what each block printed. */
export async function printedBy(
  blocks: readonly Commands[],
  where: { readonly folder: string; readonly change: (text: string) => string },
): Promise<readonly string[]> {
  const mark = randomUUID()
  const script = blocks.map(({ text }) => `${where.change(text)}\necho ${mark}\n`).join('')
  const { stdout } = await promisify(execFile)('bash', ['-c', script], { cwd: where.folder })
  return stdout
    .split(`${mark}\n`)
    .slice(0, -1)
    .map((text) => text.replaceAll('\r', ''))
}

/** Runs commands of a page in a folder that has the token where a checkout has it. They end at the first failure. Returns their stdout. */
export async function printedInFolder(server: Server, folder: string, lines: string): Promise<string> {
  mkdirSync(join(folder, '.toolrack'), { recursive: true })
  writeFileSync(join(folder, '.toolrack/token'), `${server.token}\n`)
  const { stdout } = await promisify(execFile)(
    'sh',
    ['-ec', lines.replaceAll('http://127.0.0.1:8787', server.url)],
    { cwd: folder, env: { ...process.env, INIT_CWD: folder } },
  )
  return stdout
}

/** What is shown between the places where `…` leaves something out, as patterns. */
export function partsOf(shown: string): readonly string[] {
  return shown.split('…').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`))
}

/** What is shown as a pattern: `…` is any text, and line feeds count only between lines that are shown. */
export function asPattern(shown: string): RegExp {
  return new RegExp(
    `^${partsOf(shown)
      .join('.*')
      .replaceAll('\n', String.raw`\n`)}\\s*$`,
  )
}
