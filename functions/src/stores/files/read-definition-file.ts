import { isJsonObject, jsonPointer, type JsonValue } from '@toolrack/contract'
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { admitDefinition, type AdmittedDefinition } from '../../tools/definitions/admit-definition.ts'
import { definitionSchemas } from '../../tools/definitions/definition-schema.ts'
import type { SkippedItem } from '../../tools/catalog/layer-source.ts'
import { withFamily } from '../../tools/definitions/loose-shape.ts'
import { readJson } from '../../tools/json/read-json.ts'
import type { SchemaCompilers } from '../../tools/schemas/schema-compilers.ts'
import { lastingFault } from './find-files.ts'

/** The most bytes of a definitions file. A larger file is a mistake, and reading it would delay the other files. */
export const FILE_BYTES_MAX = 4 * 1024 * 1024

export type DefinitionFile = {
  readonly definitions: readonly FiledDefinition[]
  readonly skipped: readonly SkippedItem[]
}
export type FiledDefinition = AdmittedDefinition & { readonly source: string; readonly pointer: string }

/**
 * Reads one definitions file: `{family, tools}`, an array of definitions, or one definition. `source` is the path of the file in its
 * folder of definition files. Never rejects: `skipped` has the faults of the file and of its items.
 */
export async function readDefinitionFile(
  path: string,
  compilers: SchemaCompilers,
  source = basename(path),
): Promise<DefinitionFile> {
  const skip = (pointer: string, message: string) => ({
    definitions: [],
    skipped: [{ source, pointer, message }],
  })
  const read = await readBytes(path)
  if ('fault' in read) return skip('', read.fault)
  const json = readJson(read.bytes)
  if ('fault' in json) return skip(json.fault.pointer, json.fault.message)
  const { definitionFileSchema } = await definitionSchemas()
  const { file, placeOf } = fileOf(json.value)
  const parsed = definitionFileSchema.safeParse(file)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const message = `is not a definitions file {"family": …, "tools": [ … ]}, [ … ] or one definition: ${issue?.message ?? ''}`
    return skip(jsonPointer(placeOf(issue?.path ?? [])), message)
  }
  const place = placeName(source)
  const { family = definitionFileSchema.shape.family.safeParse(place).data, tools } = parsed.data
  const definitions: FiledDefinition[] = []
  const skipped: SkippedItem[] = []
  for (const [index, tool] of (tools as readonly JsonValue[]).entries()) {
    const at = jsonPointer(placeOf(['tools', index]))
    const admission = await admitDefinition(family ? withFamily(tool, family) : tool, compilers.own)
    if ('faults' in admission)
      for (const { pointer, message } of admission.faults)
        skipped.push({ source, pointer: at + pointer, message })
    else definitions.push({ ...admission, source, pointer: at })
  }
  return { definitions, skipped }
}

type Path = readonly PropertyKey[]

/** The content in the shape `{family, tools}`. `placeOf` converts a path in this shape to a path in the content. */
function fileOf(value: JsonValue): { readonly file: JsonValue; readonly placeOf: (path: Path) => Path } {
  if (Array.isArray(value))
    return { file: { tools: value as readonly JsonValue[] }, placeOf: (path) => path.slice(1) }
  if (!isJsonObject(value) || 'tools' in value || 'family' in value)
    return { file: value, placeOf: (path) => path }
  const { $schema: _schema, ...definition } = value
  return { file: { tools: [definition] }, placeOf: (path) => path.slice(2) }
}

/** The name of the folder that the file is in, or of the file itself if it is not in a subfolder. */
function placeName(source: string): string {
  const [file = '', folder] = source.split('/').toReversed()
  return folder ?? file.replace(/\.json$/, '')
}

async function readBytes(path: string): Promise<{ bytes: Uint8Array } | { fault: string }> {
  try {
    await using file = await open(path, 'r')
    const { size } = await file.stat()
    if (size > FILE_BYTES_MAX)
      return { fault: `is ${size} bytes; a definitions file may have ${FILE_BYTES_MAX}` }
    return { bytes: await file.readFile() }
  } catch (error) {
    const fault = error as NodeJS.ErrnoException
    return { fault: lastingFault(fault) ?? `cannot be read: ${fault.code ?? fault.message}` }
  }
}
