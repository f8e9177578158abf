export function fingerprint(paths: readonly string[], ...facts: readonly string[]): string
export function readStamp(path: string): { readonly digest: string; readonly word: string } | undefined
export function stampText(digest: string, word: string): string
export function manifestPaths(root: string): string[]
