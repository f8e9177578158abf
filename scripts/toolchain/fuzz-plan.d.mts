type Options = { readonly seconds: string; readonly seed: string; readonly case?: string }
type Plan = { readonly kinds: readonly string[]; readonly options: Options }
type Program = { readonly isPython: boolean; readonly args: readonly string[]; readonly cwd: string }

export function fuzzPlan(args: readonly string[]): Plan
export function fuzzProgram(root: string, kind: string, options: Options): Program
