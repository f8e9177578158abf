export function virtualEnvironment(environment: {
  readonly what: string
  readonly folder: string
  readonly locks: { readonly full: string }
  readonly mode: 'full'
}): Promise<
  | { readonly python: string; readonly missing?: never }
  | { readonly python?: never; readonly missing: string }
>
