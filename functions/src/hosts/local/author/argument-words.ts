import { isJsonObject, jsonPointer, type JsonObject, type JsonValue } from '@toolrack/contract'
import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import type { ArgumentFile } from '../../../catalog/definitions/runner.ts'
import { readJson } from '../../../json/read-json.ts'
import { EXIT } from '../start-error.ts'
import { AuthorError } from './author-error.ts'
import { isBase64, typesOf } from './parameters-line.ts'

/** The most levels of a value. A call allows fewer levels, and says which argument has too many. */
const DEPTH_MAX = 64

/**
 * Makes the arguments of a call from the words of a command and from `whole`, the JSON of an object. A word is `key=value`,
 * `key=@file`, `key:=json` or `key:=@file`. The value after `=` is a text if the tool's `parameters` allow a text or do not name
 * a type. Otherwise it is JSON. A file is encoded if the parameter takes bytes in base64. If the parameter takes an artifact, the
 * value is the name of the file, and `filesOf` reads the file. Throws an AuthorError that names the word.
 */
export function argumentsOf(
  words: readonly string[],
  whole: string | undefined,
  parameters: JsonObject,
): JsonObject {
  const given = new Map(Object.entries(whole === undefined ? {} : objectOf('--arguments', whole)))
  for (const word of words) {
    const { key, isJson, text } = partsOf(word)
    if (given.has(key)) throw wrong(`'${key}' is given twice.`)
    given.set(key, valueOf(key, isJson, text, parameters))
  }
  return Object.fromEntries(given)
}

/** Reads the files of the words `key=@file` whose parameters take an artifact. Throws an AuthorError that names the word. */
export function filesOf(words: readonly string[], parameters: JsonObject): readonly ArgumentFile[] {
  return words.flatMap((word) => {
    const { key, isJson, text } = partsOf(word)
    if (isJson || !text.startsWith('@') || !isArtifact(schemaOf(key, parameters))) return []
    const path = text.slice(1)
    return [{ pointer: jsonPointer([key]), name: basename(path), bytes: fileBytes(key, path) }]
  })
}

/** Parses the JSON text of an option, which must be an object. */
export function objectOf(option: string, text: string): JsonObject {
  const value = jsonOf(option, text)
  if (!isJsonObject(value)) throw wrong(`${option} takes a JSON object, such as '{"days": 3}'.`)
  return value
}

function partsOf(word: string): { readonly key: string; readonly isJson: boolean; readonly text: string } {
  const at = word.indexOf('=')
  if (at < 0) throw wrong(`'${word}' has no '='. Write an argument as key=value.`)
  const isJson = word[at - 1] === ':'
  const key = word.slice(0, isJson ? at - 1 : at)
  if (key === '') throw wrong(`'${word}' names no argument before the '='. Write it as key=value.`)
  return { key, isJson, text: word.slice(at + 1) }
}

function valueOf(key: string, isJson: boolean, text: string, parameters: JsonObject): JsonValue {
  const path = text.startsWith('@') ? text.slice(1) : undefined
  const schema = schemaOf(key, parameters)
  if (path !== undefined && !isJson && isArtifact(schema)) return basename(path)
  if (path !== undefined && !isJson && isBase64(schema, parameters))
    return fileBytes(key, path).toString('base64')
  const content = path === undefined ? text : fileText(key, path)
  if (isJson) return jsonOf(`'${key}'`, content)
  const types = [...typesOf(schema, parameters)]
  if (types.length === 0 || types.includes('string')) return content
  return jsonOf(`'${key}'`, content, types.join(' or '))
}

function schemaOf(key: string, { properties }: JsonObject): JsonValue | undefined {
  return isJsonObject(properties) && Object.hasOwn(properties, key) ? properties[key] : undefined
}

function isArtifact(schema: JsonValue | undefined): boolean {
  return isJsonObject(schema) && schema['format'] === 'artifact'
}

function fileBytes(key: string, path: string): Buffer {
  try {
    return readFileSync(resolve(path))
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const hint = `A text that begins with @ is written ${key}:='"@…"'.`
    throw wrong(`'${key}': the file ${path} cannot be read (${code}). ${hint}`)
  }
}

function fileText(key: string, path: string): string {
  const bytes = fileBytes(key, path)
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes)
  const cure = 'An argument that takes such a file has the annotation bytes.'
  throw wrong(`'${key}': the file ${path} cannot be read (it is not UTF-8). ${cure}`)
}

function jsonOf(what: string, text: string, types?: string): JsonValue {
  const read = readJson(Buffer.from(text), DEPTH_MAX)
  if ('value' in read) return read.value
  const wanted = types === undefined ? 'JSON' : `JSON of type ${types}`
  throw wrong(`${what} must be ${wanted}, and what you wrote ${read.fault.message}.`)
}

function wrong(sentence: string): AuthorError {
  return new AuthorError(sentence, EXIT.usage)
}
