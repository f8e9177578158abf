import { randomNumbers } from '../random-numbers.ts'

/** Random choices, always the same for a seed. */
export type Choices = ReturnType<typeof choicesFrom>

export function choicesFrom(seed: number) {
  const random = randomNumbers(seed)
  const below = (most: number): number => Math.floor(random() * most)
  return {
    below,
    chance: (share: number): boolean => random() < share,
    oneOf: <T>(values: readonly T[]): T => values[below(values.length)] as T,
    some: <T>(least: number, most: number, make: () => T): T[] =>
      Array.from({ length: least + below(most - least + 1) }, make),
  }
}
