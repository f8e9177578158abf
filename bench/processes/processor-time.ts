import { readFileSync } from 'node:fs'
import { processesBelow } from './process-tree.ts'

/** The processor time of an embedded server and its runner, in milliseconds, in steps of 10 ms. */
export type ProcessorTime = {
  readonly serviceMs: number
  /** The runner's process that serves calls. */
  readonly serverMs: number
  /** The zygotes, and all children that have ended. */
  readonly zygotesMs: number
}

const TICK_MS = 10

export function processorTimeOf(service: number): ProcessorTime {
  const below = processesBelow(service)
  const runner = below.find(({ pid, parent }) => parent === service && hasArgument(pid, '--parent=stdin'))
  if (!runner) throw new Error('the server has no runner')
  // A child leads a session of its own. When it has ended, its time counts as time of its parent's children.
  const zygotes = processesBelow(runner.pid).filter(({ pid, session }) => pid !== session)
  return {
    serviceMs: timeOf(service).own,
    serverMs: timeOf(runner.pid).own,
    zygotesMs: zygotes
      .map(({ pid }) => timeOf(pid))
      .reduce((total, { own, children }) => total + own + children, 0),
  }
}

function timeOf(pid: number): { readonly own: number; readonly children: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
    .map(Number)
  const [user = 0, system = 0, childUser = 0, childSystem = 0] = fields.slice(11, 15)
  return { own: (user + system) * TICK_MS, children: (childUser + childSystem) * TICK_MS }
}

function hasArgument(pid: number, argument: string): boolean {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(argument)
}
