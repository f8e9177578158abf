export function fingerprint(paths: readonly string[], ...facts: readonly string[]): string
export function writeStamp(folder: string, digest: string, mode?: 'full' | 'runtime'): void
