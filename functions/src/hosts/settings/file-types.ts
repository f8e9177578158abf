import type { JsonValue } from '@toolrack/contract'
import { resolve } from 'node:path'
import type { FileType } from '../../settings/variables.ts'
import { isObject } from './json-settings.ts'

/** The name of a type with its article, for a sentence. */
export function aType(type: FileType = 'text'): string {
  return type === 'object' ? 'an object' : `a ${type}`
}

/** Converts a value in the file to the text that an environment variable would have. Undefined if the value has another type. */
type TextOf = (value: JsonValue, folder: string) => string | undefined

const textOf: TextOf = (value) => (typeof value === 'string' ? value : undefined)
const numberOf: TextOf = (value) => (typeof value === 'number' ? String(value) : undefined)

export const TEXT_OF: Readonly<Record<FileType, TextOf>> = {
  text: textOf,
  'whole number': numberOf,
  'number or text': (value, folder) => textOf(value, folder) ?? numberOf(value, folder),
  path: (value, folder) => (typeof value === 'string' ? value && resolve(folder, value) : undefined),
  // The text of a list has commas between its elements, as in the environment.
  'list of texts': (value) =>
    Array.isArray(value) && value.every((each) => typeof each === 'string' && !each.includes(','))
      ? value.join(',')
      : undefined,
  object: (value) => (isObject(value) ? JSON.stringify(value) : undefined),
}
