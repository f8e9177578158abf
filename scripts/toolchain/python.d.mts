export function findPython(machine?: {
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly isRoot?: boolean
  readonly folders?: readonly string[]
}): { readonly path: string; readonly version: string }
