import { monitorEventLoopDelay } from 'node:perf_hooks'

/** What the process has, in bytes after a garbage collection, and for how long its event loop stood still since the last look. */
export type ProbeReport = {
  readonly heapBytes: number
  readonly externalBytes: number
  readonly rssBytes: number
  readonly delayMsMax: number
}

/** Loaded into the service beside its own code by `--import`: tells of the process when it is asked over the channel. */
const delay = monitorEventLoopDelay({ resolution: 1 })
delay.enable()

process.on('message', () => {
  const delayMsMax = delay.max / 1e6
  globalThis.gc?.()
  // What is finalised by the first is free after the second.
  setImmediate(() => {
    globalThis.gc?.()
    const { heapUsed, external, rss } = process.memoryUsage()
    const report: ProbeReport = { heapBytes: heapUsed, externalBytes: external, rssBytes: rss, delayMsMax }
    process.send?.(report)
    delay.reset()
  })
})
process.on('disconnect', () => process.exit())
