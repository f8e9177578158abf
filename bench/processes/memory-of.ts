import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { processesBelow } from './process-tree.ts'

/** The memory of an embedded server and of all processes below it, in MB. A page that processes share counts once in total. */
export type Memory = {
  readonly totalMb: number
  readonly serviceMb: number
  /** The processes that compile schemas and check arguments. */
  readonly checksMb: number
  /** The runner: its server process, its zygotes and its children. */
  readonly runnerMb: number
}

/** The memory is read when it has changed by less than this share for `STABLE_MS`. */
const SHARE = 0.01
const STABLE_MS = 2_000
const AT_MOST_MS = 20_000
const POLL_MS = 250

/** Waits until the processes rest, and returns their memory. */
export async function memoryOf(server: number): Promise<Memory> {
  const endsMs = performance.now() + AT_MOST_MS
  let memory = readMemory(server)
  for (
    let sinceMs = performance.now();
    performance.now() - sinceMs < STABLE_MS && performance.now() < endsMs;
    await pause(POLL_MS)
  ) {
    const now = readMemory(server)
    if (Math.abs(now.totalMb / memory.totalMb - 1) < SHARE) continue
    memory = now
    sinceMs = performance.now()
  }
  return memory
}

function readMemory(server: number): Memory {
  const below = processesBelow(server).map(({ pid }) => ({ pid, isPython: isPython(pid) }))
  const sum = (pids: readonly { readonly pid: number }[]): number =>
    pids.reduce((total, { pid }) => total + pssMb(pid), 0)
  const serviceMb = pssMb(server)
  const checksMb = sum(below.filter((each) => !each.isPython))
  const runnerMb = sum(below.filter((each) => each.isPython))
  return { totalMb: serviceMb + checksMb + runnerMb, serviceMb, checksMb, runnerMb }
}

function isPython(pid: number): boolean {
  return /python/.test(read(`/proc/${pid}/cmdline`))
}

/** The proportional set size: the pages of the process, each divided by the number of processes that share it. */
function pssMb(pid: number): number {
  return (Number(/^Pss:\s+(\d+) kB$/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) * 1_024) / 1e6
}

/** The text of a file of the kernel. Empty if the process has ended. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
