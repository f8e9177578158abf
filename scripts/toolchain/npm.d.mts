export function npmInstall(options: {
  readonly what: string
  readonly cwd: string
  readonly node: string
  readonly flags?: readonly string[]
}): Promise<void>
export function npmCommand(node: string): [command: string, ...args: string[]]
export function workspacesOf(root: string): string[]
