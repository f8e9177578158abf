export interface Command {
  readonly name: string
  readonly about: string
  readonly options?: Readonly<Record<string, Option>>
  readonly words?: {
    readonly is: string
    readonly most: number
    readonly oneOf?: readonly string[]
    readonly rest?: string
  }
}

interface Option {
  readonly about: string
  readonly takes?: string
  readonly short?: string
  readonly repeats?: boolean
  readonly rule?: string
  readonly accepts?: (text: string) => boolean
}

export const usageCode: number
export function readArguments(
  command: Command,
  args?: readonly string[],
  env?: NodeJS.ProcessEnv,
): { readonly values: Readonly<Record<string, string | true>>; readonly words: readonly string[] }
