export function parseJavaMajor(text: string): number
export function findJava(machine?: {
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly home?: string
  readonly system?: string
}): string
