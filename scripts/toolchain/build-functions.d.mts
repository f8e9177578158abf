export function buildFunctions(
  root: string,
  node: string,
  options?: { readonly logLevel?: 'warning' | 'error' | 'silent' },
): Promise<void>
