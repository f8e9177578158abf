import type { ToolDefinition } from '@toolrack/contract'

/** `count` definitions: the given ones, then copies of them under new names. */
export function manyDefinitions(given: readonly ToolDefinition[], count: number): ToolDefinition[] {
  return Array.from({ length: count }, (_, index) => {
    const definition = must(given[index % given.length])
    const copy = Math.floor(index / given.length)
    return copy === 0 ? definition : renamed(definition, `${definition.function.name}-copy${copy}`)
  })
}

/** Draws definitions at random, each at most once. The same seed draws the same ones. */
export function drawing(seed: number): (definitions: readonly ToolDefinition[], count: number) => string[] {
  let state = seed
  const random = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
  return (definitions, count) => {
    const names = new Set<string>()
    while (names.size < count) {
      names.add(must(definitions[Math.floor(random() * definitions.length)]).function.name)
    }
    return [...names]
  }
}

function renamed(definition: ToolDefinition, name: string): ToolDefinition {
  return { ...definition, function: { ...definition.function, name } }
}

function must<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('there are no definitions to choose from')
  return value
}
