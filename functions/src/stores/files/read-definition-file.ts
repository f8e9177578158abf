import { jsonPointer, type JsonValue } from '@toolrack/contract'
import { createHash } from 'node:crypto'
import { basename } from 'node:path'
import { admitDefinition, type AdmittedDefinition } from '../../tools/definitions/admit-definition.ts'
import { definitionSchemas } from '../../tools/definitions/definition-schema.ts'
import type { SkippedItem } from '../../tools/catalog/layer-source.ts'
import { withFamily } from '../../tools/definitions/loose-shape.ts'
import { readJson } from '../../tools/json/read-json.ts'
import type { SchemaCompiler, SchemaCompilers } from '../../tools/schemas/schema-compilers.ts'
import type { KeptAdmissions } from './kept-admissions.ts'
import { readBytes } from './read-bytes.ts'

/** The most bytes of a definitions file. A larger file is a mistake, and reading it would delay the other files. */
export const FILE_BYTES_MAX = 4 * 1024 * 1024

export type DefinitionFile = {
  readonly definitions: readonly FiledDefinition[]
  readonly skipped: readonly SkippedItem[]
  /** Identifies the name and the content of the file. Undefined if another look at this content may have another result. */
  readonly key?: string
}
export type FiledDefinition = AdmittedDefinition & { readonly source: string; readonly pointer: string }

/**
 * Reads one definitions file. Its definitions are admitted, unless `kept` has what admission found for this name and content.
 * Never rejects: `skipped` has the faults of the file and of its items.
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
  const parsed = definitionFileSchema.safeParse(json.value)
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    const message = `is not a definitions file {"family": …, "tools": [ … ]}: ${issue?.message ?? ''}`
    return skip(jsonPointer(issue?.path ?? []), message)
  }
  const { family, tools } = parsed.data
  const definitions: FiledDefinition[] = []
  const skipped: SkippedItem[] = []
  for (const [index, tool] of tools.entries()) {
    const at = `/tools/${index}`
    const admission = await admitDefinition(withFamily(tool as JsonValue, family), compiler)
    if ('faults' in admission)
      for (const { pointer, message } of admission.faults)
        skipped.push({ source, pointer: at + pointer, message })
    else definitions.push({ ...admission, source, pointer: at })
  }
  return { definitions, skipped }
}
