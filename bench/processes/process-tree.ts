import { readFileSync, readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/** The resources of a runner. Children that wait for a call are excluded, because their number changes. */
export type Holdings = {
  readonly processes: number
  /** The descriptors of the runner and its zygotes, except those that belong to a child. */
  readonly descriptors: number
  readonly directories: number
  /** The mounts of the zygotes' file trees. */
  readonly mounts: number
}

type Counts = Holdings & { readonly children: number }

const STABLE_MS = 1_000
const AT_MOST_MS = 60_000
const POLL_MS = 100
/** For each child the runner has a channel, a pipe and a pidfd, and a zygote has a pidfd. */
const DESCRIPTORS_OF_CHILD = 4

/** Waits until the numbers have not changed for a second, and returns them. The runner makes its directories in `folder`. */
export async function holdingsOf(runner: number, folder: string): Promise<Holdings> {
  const endsMs = performance.now() + AT_MOST_MS
  let counts = count(runner, folder)
  for (let sinceMs = performance.now(); performance.now() - sinceMs < STABLE_MS; await pause(POLL_MS)) {
    const now = count(runner, folder)
    if (JSON.stringify(now) !== JSON.stringify(counts)) sinceMs = performance.now()
    counts = now
    if (performance.now() > endsMs)
      throw new Error(`the runner's processes still change: ${JSON.stringify(counts)}`)
  }
  const { children, ...holdings } = counts
  return {
    ...holdings,
    processes: holdings.processes - children,
    descriptors: holdings.descriptors - children * DESCRIPTORS_OF_CHILD,
  }
}

function count(runner: number, folder: string): Counts {
  const below = processesBelow(runner)
  // Each child leads a session of its own.
  const children = below.filter(({ pid, session }) => pid === session)
  const lasting = [runner, ...below.filter(({ pid, session }) => pid !== session).map(({ pid }) => pid)]
  return {
    processes: lasting.length + children.length,
    children: children.length,
    descriptors: sum(lasting.map((pid) => lengthOf(() => readdirSync(`/proc/${pid}/fd`)))),
    directories: readdirSync(folder).length,
    mounts: sum(
      lasting.map((pid) => lengthOf(() => readFileSync(`/proc/${pid}/mountinfo`, 'utf8').split('\n'))),
    ),
  }
}

export type Process = { readonly pid: number; readonly parent: number; readonly session: number }

/** The processes below the runner. Those that have ended but are not reaped are included, because they are a leak. */
export function processesBelow(runner: number): readonly Process[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? processOf(Number(name)) : []))
  const found: Process[] = []
  for (let level = [runner]; level.length > 0;) {
    const children = all.filter(({ parent }) => level.includes(parent))
    found.push(...children)
    level = children.map(({ pid }) => pid)
  }
  return found
}

function processOf(pid: number): Process[] {
  try {
    const [, parent, , session] = readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /, '')
      .split(' ')
    return [{ pid, parent: Number(parent), session: Number(session) }]
  } catch {
    return [] // The process has ended.
  }
}

function lengthOf(read: () => { readonly length: number }): number {
  try {
    return read().length
  } catch {
    return 0 // The process has ended.
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}
