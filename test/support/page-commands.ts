import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { promisify } from 'node:util'

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

/** What is shown as a pattern: `…` is any text, and line feeds count only between lines that are shown. */
export function asPattern(shown: string): RegExp {
  const parts = shown.split('…').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`))
  return new RegExp(`^${parts.join('.*').replaceAll('\n', String.raw`\n`)}\\s*$`)
}
