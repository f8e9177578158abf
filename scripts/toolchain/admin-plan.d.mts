type Plan =
  | { readonly isHelp: true }
  | { readonly isHelp?: never; readonly verb: string; readonly user: string; readonly project?: string }

export const adminHelp: string
export function adminPlan(args: readonly string[], env?: Readonly<Record<string, string | undefined>>): Plan
