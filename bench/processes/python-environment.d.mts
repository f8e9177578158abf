/** Rejects with a SetupFailure where there is no Python for it. */
export function benchPython(): Promise<string>
