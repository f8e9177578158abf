interface Options {
  readonly seconds: string
  readonly seed: string
  readonly case?: string
}

export const fuzzHelp: string

export function fuzzPlan(args: readonly string[]): {
  readonly isHelp?: true
  readonly kinds?: readonly string[]
  readonly options?: Options
}

export function fuzzProgram(
  root: string,
  kind: string,
  options: Options,
): {
  readonly isPython: boolean
  readonly args: readonly string[]
  readonly cwd: string
  readonly env?: object
}
