interface Machine {
  readonly isHere: boolean
  readonly env: NodeJS.ProcessEnv
}
export const demoProject: string
export function emulatorEnvironment(root: string, node: string): Machine
export function startEmulators(options: {
  readonly root: string
  readonly machine: Machine
  readonly config: string
  readonly folder: string
}): Promise<{ readonly stop: () => Promise<void> }>
