import { toolResult, ToolrackError, type ErrorCode, type RuleDecision } from '@toolrack/contract'
import type { JsonObject, ToolClass } from '@toolrack/contract'
import { randomUUID } from 'node:crypto'
import { grantOf, type Principal } from '../../access/principal.ts'
import type { Log } from '../../log.ts'
import type { CallingSession } from '../../catalog/views/session-selection.ts'
import { outcomeOf, type CallOutcome, type Received } from '../../calls/call.ts'
import { dryRunOf, type DryRun, type DryRunParts } from './dry-run.ts'
import { Onion } from '../../calls/onion.ts'
import { decidingSteps, type DecideParts } from '../../calls/pipeline/steps.ts'
import { authoriseCall, type AuthoriseParts } from '../rules/authorise.ts'

/** A call that is simulated, and its caller. */
export type SimulatedCall = {
  readonly principal: Principal
  readonly name: string
  readonly arguments: JsonObject
  /** The id of an approval that the call would name. */
  readonly approval?: string | undefined
  readonly sessionId?: string | undefined
  /** The workflow whose job token would make the call. The token names the tool. */
  readonly workflow?: string | undefined
  /** An agent whose rules bind the call too, as if its session were linked to it. */
  readonly agent?: string | undefined
}

/** What would happen to a call. `effect`, `owner`, `rule`, `reason` and `approval` are those of a dry run. */
export type Simulation = RuleDecision & {
  readonly name: string
  readonly classes: readonly ToolClass[]
  /** True if a list of the same caller through the same session has the tool. */
  readonly listed: boolean
  readonly approval: NonNullable<DryRun['approval']> | null
  /** The code of the answer to the call. Null if the tool would run. */
  readonly code: ErrorCode | null
  /** The message of a refused call for its caller. */
  readonly message: string | null
}

export type Simulate = (call: SimulatedCall) => Promise<Simulation>

type SimulateParts = DecideParts & AuthoriseParts & DryRunParts

/**
 * Returns a function that takes a call through the deciding steps, and says what would happen to the call. The tool does not run,
 * and the call is not kept in the history. The function throws the error of a call that is refused before the rules are asked.
 */
export function simulation(parts: SimulateParts & { readonly log: Log }): Simulate {
  return async (asked) => {
    const through = partsWith(parts, asked.agent)
    const principal = await callerOf(through, asked)
    let foreseen: DryRun | undefined
    const take = decidingSteps(Onion.withoutSteps({ log: parts.log, countAfterNext: () => undefined }), {
      ...through,
      steps: { ...through.steps, 'authorise the call': authoriseCall(through) },
    })
      // The steps before this one end every call that would be refused.
      .run('say what would happen', async (call) => {
        foreseen = await dryRunOf(call, through)
        return outcomeOf(call, toolResult(null))
      })
    const outcome = await take(received({ ...asked, principal }))
    return simulationOf(outcome, foreseen)
  }
}

function received({ principal, sessionId, name, arguments: args, approval }: SimulatedCall): Received {
  return {
    invocationId: randomUUID(),
    parentInvocationId: null,
    principal,
    sessionId,
    headers: { idempotencyKey: undefined, traceparent: undefined },
    read: () => ({ name, arguments: args, context: {}, expectedDigest: undefined, approval }),
    signal: new AbortController().signal,
    isDryRun: true,
    isHeard: false,
    emit: () => undefined,
    pipeline: { invoke: () => Promise.reject(new Error('a simulation makes no calls')) },
  }
}

function simulationOf({ call, result }: CallOutcome, foreseen: DryRun | undefined): Simulation {
  const { entry, decision, view } = call
  const failure = result.resultType === 'failure' ? result : undefined
  if (!entry || !decision || !view) throw new ToolrackError(failure?.code ?? 'INTERNAL', failure?.error)
  const { name, classes } = entry
  const { approval = null, decision: effect = decision.effect, reason = decision.reason } = foreseen ?? {}
  const code = failure?.code ?? (effect === 'ask' ? 'APPROVAL_REQUIRED' : null)
  const listed = view.resolve(name) === entry
  const answer = { approval, code, message: failure?.error ?? null }
  return { name, ...decision, effect, reason, classes, listed, ...answer }
}

/** The parts with the rules of one more agent. */
function partsWith<Parts extends SimulateParts>(parts: Parts, agent: string | undefined): Parts {
  if (agent === undefined) return parts
  const { catalog, ruleBook } = parts
  // No session has an empty id, so only the rules of the agent are added.
  const withAgent = (session: CallingSession | undefined): CallingSession => ({
    lineage: [...(session?.lineage ?? []), { id: '', agent }],
  })
  return {
    ...parts,
    catalog: {
      view: (principal: Principal, session?: CallingSession) => catalog.view(principal, withAgent(session)),
    },
    ruleBook: {
      of: (caller: Principal, session?: CallingSession) => ruleBook.of(caller, withAgent(session)),
    },
  }
}

/**
 * The principal of the simulated call. For a workflow, this is the holder of a job token that names the tool with its present
 * digest.
 */
async function callerOf(
  { catalog }: Pick<DecideParts, 'catalog'>,
  { principal, name, workflow }: SimulatedCall,
): Promise<Principal> {
  if (workflow === undefined) return principal
  const entry = (await catalog.view(principal)).meaning(name)
  // A token can name only tools that exist. Without the tool, the call ends like a call of the user.
  if (!entry) return principal
  const grant = grantOf([{ name: entry.name, digest: entry.digest }])
  return { kind: 'job', uid: principal.uid, isAdmin: false, grant, workflowId: workflow }
}
