import { spawnSync } from 'node:child_process'

/** Whether a process of that number runs; one that has ended and is not waited for yet does not. */
export function isAlive(pid: number): boolean {
  return table().some((process) => process.pid === pid)
}

/** Everything that a process has started, and what that has started, as far as their parents live. */
export function descendantsOf(pid: number): number[] {
  const all = table()
  const below = (of: number): number[] =>
    all.flatMap(({ pid, parent }) => (parent === of ? [pid, ...below(pid)] : []))
  return below(pid)
}

/** The Python runner of a server, first, and everything that the runner has started; empty where there is none. */
export function runnerTreeOf(pid: number): number[] {
  const runner = descendantsOf(pid).find((each) => commandOf(each).includes('--parent=stdin'))
  return runner === undefined ? [] : [runner, ...descendantsOf(runner)]
}

/** With its arguments; empty when there is no such process. */
export function commandOf(pid: number): string {
  return spawnSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim()
}

/** Every process of the machine but those that have ended. */
function table(): { pid: number; parent: number }[] {
  const { stdout } = spawnSync('ps', ['-axo', 'pid=,ppid=,stat='], { encoding: 'utf8' })
  return stdout.split('\n').flatMap((line) => {
    const [pid = '', parent = '', state = ''] = line.trim().split(/\s+/)
    return pid === '' || state.startsWith('Z') ? [] : [{ pid: Number(pid), parent: Number(parent) }]
  })
}
