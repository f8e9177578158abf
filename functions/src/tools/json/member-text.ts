import { stringEnd } from './string-end.ts'

/**
 * How the value of a member stands in the text of an object that JSON.parse has accepted; of two members of one name that
 * of the last, which is the one that JSON.parse takes. Undefined where there is none.
 */
export function memberText(text: string, name: string): string | undefined {
  let depth = 0
  let key: string | undefined
  let valueAt = 0
  let found: string | undefined
  for (let index = 0; index < text.length; index += 1) {
    const char = text[index]
    if (char === '"') {
      const end = stringEnd(text, index)
      if (depth === 1 && key === undefined) key = JSON.parse(text.slice(index, end + 1)) as string
      index = end
    } else if (char === '{' || char === '[') depth += 1
    else if (char === ':' && depth === 1) valueAt = index + 1
    else if (char === '}' || char === ']' || char === ',') {
      if (depth === 1) {
        if (key === name) found = text.slice(valueAt, index).trim()
        key = undefined
      }
      if (char !== ',') depth -= 1
    }
  }
  return found
}
