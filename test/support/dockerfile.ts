export type Instruction = { readonly keyword: string; readonly rest: string }

/** The instructions of each stage of a Dockerfile, and those before the first. */
export function parseDockerfile(text: string): { head: Instruction[]; stages: Instruction[][] } {
  const lines = text
    .split('\n')
    .filter((line) => !/^\s*(?:#|$)/.test(line))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
  const instructions = lines.map((line): Instruction => {
    const [keyword = '', ...rest] = line.trim().split(/\s+/)
    return { keyword, rest: rest.join(' ') }
  })
  const starts = instructions.flatMap(({ keyword }, index) => (keyword === 'FROM' ? [index] : []))
  return {
    head: instructions.slice(0, starts[0]),
    stages: starts.map((start, index) => instructions.slice(start, starts[index + 1])),
  }
}

/** The arguments of every instruction with this keyword, in order. */
export function saidBy(keyword: string, stage: readonly Instruction[]): string[] {
  return stage.filter((instruction) => instruction.keyword === keyword).map(({ rest }) => rest)
}

/** The variables that a stage sets. */
export function environmentOf(stage: readonly Instruction[]): Record<string, string> {
  const settings = saidBy('ENV', stage).flatMap((rest) => rest.split(/\s+/))
  return Object.fromEntries(settings.map((setting) => setting.split('=')))
}
