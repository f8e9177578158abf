import { spawnSync } from 'node:child_process'

/** True if a process with this id runs. A process that has ended but is not reaped yet does not run. */
export function isAlive(pid: number): boolean {
  return table().some((process) => process.pid === pid)
}

/** The descendants of a process whose parents still run. */
export function descendantsOf(pid: number): number[] {
  const all = table()
  const below = (of: number): number[] =>
    all.flatMap(({ pid, parent }) => (parent === of ? [pid, ...below(pid)] : []))
  return below(pid)
}

/** The Python runner of a server, then the runner's descendants. Empty if there is no runner. */
export function runnerTreeOf(pid: number): number[] {
  const runner = descendantsOf(pid).find((each) => commandOf(each).includes('--parent=stdin'))
  return runner === undefined ? [] : [runner, ...descendantsOf(runner)]
}

/** The command of a process with its arguments. Empty if there is no such process. */
export function commandOf(pid: number): string {
  return spawnSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' }).stdout.trim()
}

/** Every running process of the machine. */
function table(): { pid: number; parent: number }[] {
  const { stdout } = spawnSync('ps', ['-axo', 'pid=,ppid=,stat='], { encoding: 'utf8' })
  return stdout.split('\n').flatMap((line) => {
    const [pid = '', parent = '', state = ''] = line.trim().split(/\s+/)
    return pid === '' || state.startsWith('Z') ? [] : [{ pid: Number(pid), parent: Number(parent) }]
  })
}
