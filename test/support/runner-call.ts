import type { RunnerCall } from '../../functions/src/catalog/definitions/runner.ts'

/** A call whose source must not be read: it rejects. */
export const CALL: RunnerCall = {
  module: 'weather',
  sha256: 'a'.repeat(64),
  tool: 'weather:get',
  arguments: { location: 'Bern' },
  context: {
    user: 'ann',
    invocationId: 'i1',
    tool: 'weather:get',
    session: null,
    workflow: null,
    caller: {},
  },
  tenant: 'ann',
  invocationId: 'i1',
  deadlineMs: 10_000,
  minIsolation: undefined,
  resultBytesMax: 1_000,
  network: [],
  source: () => Promise.reject(new Error('the source was asked for')),
  signal: new AbortController().signal,
}

/** A runner's answer to a call that succeeded. */
export const SUCCESS = {
  outcome: 'success',
  text: 'cloudy',
  log: { text: 'looking\n', truncated: false },
  usage: { wallMs: 1.5, cpuMs: 1.25, maxRssBytes: 4_096 },
  isolation: 'L2',
}
