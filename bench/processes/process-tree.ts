import { readFileSync, readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'

/** The resources of a runner, without those of the children that wait for a call, because their number changes. */
export type Holdings = {
  readonly processes: number
  /** Of the runner and its zygotes, without those that belong to a child. */
  readonly descriptors: number
  readonly directories: number
  /** Of the zygotes' file trees. */
  readonly mounts: number
}

type Counts = Holdings & { readonly children: number }

const STABLE_MS = 1_000
const AT_MOST_MS = 60_000
const POLL_MS = 100
/** The runner keeps a channel, a pipe and a pidfd for each child, and a zygote a pidfd. */
const DESCRIPTORS_OF_CHILD = 4

/** The counts when nothing has changed for a second. The runner creates its directories in `folder`. */
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
  // Only a child is the leader of a session.
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

type Process = { readonly pid: number; readonly parent: number; readonly session: number }

/** Includes processes that have ended and are not reaped, because they are a leak. */
function processesBelow(runner: number): readonly Process[] {
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
