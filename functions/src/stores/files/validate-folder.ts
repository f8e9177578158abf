import type { SchemaCompilers } from '../../tools/schemas/schema-compilers.ts'
import { FileLayer } from './file-layer.ts'

type Validation = { readonly isValid: boolean; readonly lines: readonly string[] }

/** Reads a folder exactly as the service does, and reports the number of served definitions and each fault. */
export async function validateFolder(folder: string, compilers: SchemaCompilers): Promise<Validation> {
  try {
    const { definitions, skipped } = await new FileLayer(folder, compilers).read()
    const served = `${definitions.length} definitions would be served from ${folder}`
    if (skipped.length === 0) return { isValid: true, lines: [served] }
    const faults = skipped.map(
      ({ source, pointer, message }) => `${source}${pointer && `#${pointer}`}: ${message}`,
    )
    return { isValid: false, lines: [...faults, `${served}; ${skipped.length} faults`] }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return { isValid: false, lines: [`${folder} cannot be read (${code ?? (error as Error).message})`] }
  }
}
