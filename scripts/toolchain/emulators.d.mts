interface Machine {
  readonly isHere: boolean
  readonly env: NodeJS.ProcessEnv
}
export const demoProject: string
export function emulatorEnvironment(node: string): Machine
export function startEmulators(options: {
  readonly machine: Machine
  readonly config: string
  readonly folder: string
}): Promise<{ readonly stop: () => Promise<void> }>
