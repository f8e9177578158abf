import { afterAll } from '@jest/globals'
import { spawn } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from './temporary-folder.ts'

const SCRIPT = fileURLToPath(new URL('../../scripts/tool.mjs', import.meta.url))

const data = temporaryFolder()
chmodSync(data.path, 0o777)
afterAll(() => data[Symbol.dispose]())

export type ToolRun = {
  readonly child: ReturnType<typeof spawn>
  readonly ended: Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>
}

type Where = {
  /** The folder in which the author calls npm. */
  readonly folder: string
  readonly env?: Readonly<Record<string, string>>
  /** A command that runs the script in another environment. */
  readonly through?: readonly string[]
}

/**
 * Starts `npm run tool -- …` as npm does: in the checkout, with the author's folder in INIT_CWD. Unless `env` says otherwise, the
 * data folder is not that of the checkout.
 */
export function startTool({ folder, env = {}, through = [] }: Where, ...args: readonly string[]): ToolRun {
  // Another account may run the command, and cannot use a folder of this one.
  const dataFolder = join(data.path, through.length === 0 ? 'own' : 'other')
  const [program = '', ...rest] = [...through, process.execPath, SCRIPT, ...args]
  const child = spawn(program, rest, {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...process.env, INIT_CWD: folder, TOOLRACK_DATA: dataFolder, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text))
  const ended = new Promise<Awaited<ToolRun['ended']>>((resolve) =>
    child.once('close', (code) => resolve({ code, stdout, stderr })),
  )
  return { child, ended }
}

/** Runs the command to its end. */
export function runTool(...args: Parameters<typeof startTool>): ToolRun['ended'] {
  return startTool(...args).ended
}
