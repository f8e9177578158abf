export function lineNamedBy(
  output: string,
  lock: string,
): { readonly number: number; readonly text: string } | undefined
