/**
 * The kinds of failures that a definition can treat apart. `timeout`: the tool did not end in time. `permission`: something was
 * denied to it. `network`: it did not reach another program. `generic`: anything else.
 */
export const FAILURE_KINDS = ['timeout', 'permission', 'network', 'generic'] as const
export type FailureKind = (typeof FAILURE_KINDS)[number]

/** Calls the tool again. Only what may run twice is called again. */
export type RetryStrategy = {
  /** How often the tool is called again. 0 in the strategy of a kind: this kind has no retries, whatever the general one says. */
  readonly times: number
  /** The milliseconds before the first of these calls. Each next wait is twice as long. */
  readonly backoffMs?: number | undefined
  /** Each of these calls may take so many times as long as the one before it. */
  readonly timeoutFactor?: number | undefined
}

/** Another tool that takes the place of a tool that has failed. */
export type FallbackTool = {
  readonly name: string
  /** The own parameter for each parameter of the fallback. Without `args`, the fallback gets all arguments under their own names. */
  readonly args?: Readonly<Record<string, string>> | undefined
}

/** What is done after a failure: first retries, then fallbacks, then a question to a person, then a part of the result. */
export type FailureStrategy = {
  readonly retry?: RetryStrategy | undefined
  readonly fallbackTools?: readonly FallbackTool[] | undefined
  /** True: a person is asked whether the tool is called again. */
  readonly ask?: boolean | undefined
  /** True: what the tool has yielded or printed before it failed is answered as a partial result. */
  readonly degraded?: boolean | undefined
}

/** The general strategy of a tool, and the strategies of kinds. The value of a kind wins over the general one. */
export type OnFailure = FailureStrategy & { readonly [kind in FailureKind]?: FailureStrategy | undefined }

/** The strategy for failures of one kind. */
export function strategyFor(onFailure: OnFailure, kind: FailureKind): FailureStrategy {
  const { retry, fallbackTools, ask, degraded } = onFailure
  const own = onFailure[kind]
  return {
    retry: own?.retry ?? retry,
    fallbackTools: own?.fallbackTools ?? fallbackTools,
    ask: own?.ask ?? ask,
    degraded: own?.degraded ?? degraded,
  }
}

/** All strategies of a tool: the general one, and those of kinds. */
export function strategiesOf(onFailure: OnFailure): readonly FailureStrategy[] {
  return [onFailure, ...FAILURE_KINDS.flatMap((kind) => onFailure[kind] ?? [])]
}
