export function bundle(
  functionsDir: string,
  options?: { readonly logLevel?: 'warning' | 'silent' },
): Promise<unknown>
