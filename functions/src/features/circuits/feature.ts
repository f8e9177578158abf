import type { RunParts } from '../../calls/pipeline/run-tool.ts'
import type { Documents } from '../../documents/documents.ts'
import type { Log } from '../../log.ts'
import { breakCircuit } from './break-circuit.ts'
import { Circuits } from './circuits.ts'

type Needs = {
  readonly documents: Documents
  readonly governance: { readonly process?: string | undefined }
  readonly now: () => number
  readonly steadyMs?: (() => number) | undefined
  readonly log: Log
}

type StepNeeds = Pick<RunParts, 'callLimits'> & {
  readonly circuits: Circuits
  /** The longest time that the platform allows for a call, in milliseconds. By default there is no limit. */
  readonly deadlineMsMax?: number | undefined
}

/** Circuit breakers: a tool that fails again and again is not called for a while. */
export const circuits = {
  name: 'circuits',
  create: ({ documents, governance, now, steadyMs, log }: Needs) => ({
    circuits: new Circuits({
      documents: governance.process === undefined ? documents : undefined,
      now,
      steadyMs,
      log,
    }),
  }),
  steps: ({ deadlineMsMax = Infinity, ...parts }: StepNeeds) => ({
    'break the circuit': breakCircuit({ ...parts, deadlineMsMax }),
  }),
  close: (parts: { readonly circuits: Circuits }) => parts.circuits.close(),
}
