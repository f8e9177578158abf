import { isJsonObject, jsonPointer, type JsonValue } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { admitDefinition, type AdmittedDefinition } from '../../catalog/definitions/admit-definition.ts'
import { definitionSchemas } from '../../catalog/definitions/definition-schema.ts'
import type { SkippedItem } from '../../catalog/views/layer-source.ts'
import { withFamily } from '../../catalog/definitions/loose-shape.ts'
import { readJson } from '../../json/read-json.ts'
import type { SchemaCompiler, SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'
import type { KeptAdmissions } from './kept-admissions.ts'
import { readBytes } from './read-bytes.ts'

/** The most bytes of a definitions file. A larger file is a mistake, and reading it would delay the other files. */
export const FILE_BYTES_MAX = 4 * 1024 * 1024

export type DefinitionFile = {
  readonly definitions: readonly FiledDefinition[]
  readonly skipped: readonly SkippedItem[]
  /**
   * A text that identifies the name and the content of the file. Undefined if the next check of the same content may have another
   * result.
   */
  readonly key?: string
}
export type FiledDefinition = AdmittedDefinition & { readonly source: string; readonly pointer: string }

/**
 * Reads one definitions file: `{family, tools}`, an array of definitions, or one definition. `source` is the path of the file
 * within the folder of definition files. If `kept` has the result for this name and content, the definitions are not admitted
 * again. Never rejects. `skipped` has the faults of the file and of its items.
 */
export async function readDefinitionFile(
  path: string,
  compilers: SchemaCompilers,
  source = basename(path),
  kept?: KeptAdmissions,
): Promise<DefinitionFile> {
  const read = readBytes(path, FILE_BYTES_MAX)
  if ('fault' in read) return { definitions: [], skipped: [{ source, pointer: '', message: read.fault }] }
  const key = createHash('sha256').update(`${source}\0`).update(read.bytes).digest('hex')
  const known = kept?.find(key, source)
  if (known) return known
  let isDecided = true
  const file = await admitFile(source, read.bytes, {
    async compile(schema) {
      const report = await compilers.own.compile(schema)
      if (report.undecided) isDecided = false
      return report
    },
  })
  return isDecided ? { ...file, key } : file
}

async function admitFile(
  source: string,
  bytes: Uint8Array,
  compiler: SchemaCompiler,
): Promise<DefinitionFile> {
  const skip = (pointer: string, message: string) => ({
    definitions: [],
    skipped: [{ source, pointer, message }],
  })
  const json = readJson(bytes)
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
    const admission = await admitDefinition(family ? withFamily(tool, family) : tool, compiler)
    if ('faults' in admission)
      for (const { pointer, message } of admission.faults)
        skipped.push({ source, pointer: at + pointer, message })
    else definitions.push({ ...admission, source, pointer: at })
  }
  return { definitions, skipped }
}

type Path = readonly PropertyKey[]

/**
 * Brings the content into the shape `{family, tools}`. `placeOf` converts a path of keys in this shape to the path in the
 * content.
 */
function fileOf(value: JsonValue): { readonly file: JsonValue; readonly placeOf: (path: Path) => Path } {
  if (Array.isArray(value))
    return { file: { tools: value as readonly JsonValue[] }, placeOf: (path) => path.slice(1) }
  if (!isJsonObject(value) || 'tools' in value || 'family' in value)
    return { file: value, placeOf: (path) => path }
  const { $schema: _schema, ...definition } = value
  return { file: { tools: [definition] }, placeOf: (path) => path.slice(2) }
}

/**
 * The family of a file's tools by default: the name of the folder in which the file is or, without a subfolder, of the file
 * itself.
 */
function placeName(source: string): string {
  const [file = '', folder] = source.split('/').toReversed()
  return folder ?? file.replace(/\.json$/, '')
}
