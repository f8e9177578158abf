interface BuildOptions {
  readonly logLevel?: 'warning' | 'error' | 'silent'
}
export function buildFunctions(node: string, options?: BuildOptions): Promise<void>
export function bundle(functionsDir: string, options?: BuildOptions): Promise<unknown>
