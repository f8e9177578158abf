import type {
  Runner,
  RunnerCall,
  RunnerListener,
  RunnerOutcome,
} from '../../../catalog/definitions/runner.ts'
import { FilteredLines } from '../../../redaction/filtered-lines.ts'
import { printedFilter, type TextFilter } from '../../../redaction/known-secrets.ts'
import { NOT_SENSITIVE } from '../../../redaction/sensitive.ts'

type Invoking = Pick<Runner, 'invoke'>

/** A runner whose calls get these secrets in their context, and whose outcomes and events do not contain the values. */
export function withSecrets(runner: Invoking, secrets: ReadonlyMap<string, string>): Invoking {
  if (secrets.size === 0) return runner
  // The filter removes what stands behind a name such as `password`.
  const filter = printedFilter(
    Object.fromEntries([...secrets].map(([name, password]) => [name, { password }])),
    NOT_SENSITIVE,
  )
  const values = Object.fromEntries(secrets)
  return {
    async invoke(call) {
      const context = { ...call.context, secrets: values }
      const lines = new FilteredLines(filter)
      const outcome = await runner.invoke({ ...call, context, ...heard(call, filter, lines) })
      const rest = lines.end()
      if (rest !== '') await call.listen?.({ type: 'log', text: rest })
      return withoutSecrets(outcome, filter)
    },
  }
}

function withoutSecrets(outcome: RunnerOutcome, filter: TextFilter): RunnerOutcome {
  const { log } = outcome
  const shown = { ...outcome, ...(log && { log: { ...log, text: filter(log.text) } }) }
  if ('code' in shown) return { ...shown, error: filter(shown.error) }
  return 'json' in shown ? { ...shown, json: filter(shown.json) } : { ...shown, text: filter(shown.text) }
}

/** The listener of the call with filtered events. Prints are held back until their line has ended. */
function heard(
  { listen }: RunnerCall,
  filter: TextFilter,
  lines: FilteredLines,
): { readonly listen?: RunnerListener } {
  if (!listen) return {}
  return {
    listen(event) {
      if (event.type === 'progress') return listen({ ...event, text: filter(event.text) })
      // A command does not show the values of a generator. The result has all of them.
      if (event.type !== 'log') return undefined
      const text = lines.take(event.text)
      return text === '' ? undefined : listen({ ...event, text })
    },
  }
}
