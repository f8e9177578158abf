import { jsonPointer, type JsonValue } from '@toolrack/contract'
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { admitDefinition, type AdmittedDefinition } from '../../tools/definitions/admit-definition.ts'
import { definitionSchemas } from '../../tools/definitions/definition-schema.ts'
import type { SkippedItem } from '../../tools/catalog/layer-source.ts'
import { withFamily } from '../../tools/definitions/loose-shape.ts'
import { readJson } from '../../tools/json/read-json.ts'
import type { SchemaCompilers } from '../../tools/schemas/schema-compilers.ts'

/** The most bytes of a definitions file. A larger file is a mistake, and reading it would delay the other files. */
export const FILE_BYTES_MAX = 4 * 1024 * 1024

export type DefinitionFile = {
  readonly definitions: readonly FiledDefinition[]
  readonly skipped: readonly SkippedItem[]
}
export type FiledDefinition = AdmittedDefinition & { readonly source: string; readonly pointer: string }

/** Reads one definitions file. Never rejects: `skipped` has the faults of the file and of its items. */
export async function readDefinitionFile(path: string, compilers: SchemaCompilers): Promise<DefinitionFile> {
  const source = basename(path)
  const skip = (pointer: string, message: string) => ({
    definitions: [],
    skipped: [{ source, pointer, message }],
  })
  const read = await readBytes(path)
  if ('fault' in read) return skip('', read.fault)
  const json = readJson(read.bytes)
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
    const admission = await admitDefinition(withFamily(tool as JsonValue, family), compilers.own)
    if ('faults' in admission)
      for (const { pointer, message } of admission.faults)
        skipped.push({ source, pointer: at + pointer, message })
    else definitions.push({ ...admission, source, pointer: at })
  }
  return { definitions, skipped }
}

async function readBytes(path: string): Promise<{ bytes: Uint8Array } | { fault: string }> {
  try {
    await using file = await open(path, 'r')
    const { size } = await file.stat()
    if (size > FILE_BYTES_MAX)
      return { fault: `is ${size} bytes; a definitions file may have ${FILE_BYTES_MAX}` }
    return { bytes: await file.readFile() }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EACCES' || code === 'EPERM')
      return { fault: 'cannot be read: permission denied; let the service read it' }
    if (code === 'ENOENT') return { fault: 'is gone, or is a link to nothing' }
    return { fault: `cannot be read: ${code ?? message}` }
  }
}
