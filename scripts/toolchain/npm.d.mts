export function findNpm(from?: { readonly env?: NodeJS.ProcessEnv; readonly execPath?: string }): string
export function npmErrors(output: string): string[]
export function isCutOff(output: string): boolean
export function npmInstall(options: {
  readonly what: string
  readonly cwd: string
  readonly node: string
  readonly flags?: readonly string[]
}): Promise<string>
