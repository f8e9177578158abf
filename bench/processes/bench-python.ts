import type { NotRun } from '../measure/result.ts'
import { benchPython } from './python-environment.mjs'

/** Lends the interpreter of both sides; tells why the machine can not run them. */
export async function withBenchPython<T>(work: (python: string) => Promise<T>): Promise<T | NotRun> {
  if (process.platform !== 'linux') return { notRun: 'The jail of a call is complete on Linux only.' }
  let python
  try {
    python = await benchPython()
  } catch (error) {
    // Something that the machine lacks, in one sentence.
    if (error instanceof Error && error.name === 'PythonMissing') return { notRun: error.message }
    throw error
  }
  return work(python)
}
