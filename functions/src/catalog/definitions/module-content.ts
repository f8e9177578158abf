import { canonicalJson } from '@toolrack/contract'
import { hash } from 'node:crypto'

/** A file of a module. The path is relative to the module's folder and has `/` between its segments. */
export type ModuleFile<Content = string> = { readonly path: string; readonly content: Content }

/** The content of a module: one Python file, or several files, ordered by path. One of the several is `__init__.py`. */
export type ModuleContent<Content = string> =
  | { readonly source: Content; readonly files?: undefined }
  | { readonly files: readonly ModuleFile<Content>[]; readonly source?: undefined }

/** The file that makes a folder a module. It exports `TOOL_SPECS`. */
export const INIT_FILE = '__init__.py'

/** The name of the file that exports `TOOL_SPECS`, as in messages: `weather.py`, or `weather/__init__.py`. */
export function mainFile(name: string, { files }: ModuleContent<unknown>): string {
  return files ? `${name}/${INIT_FILE}` : `${name}.py`
}

/** Converts the bytes or the text of each file. The result has only the content, and no other fields of the object. */
export function mapContent<From, To>(
  { source, files }: ModuleContent<From>,
  convert: (content: From) => To,
): ModuleContent<To> {
  if (files) return { files: files.map(({ path, content }) => ({ path, content: convert(content) })) }
  return { source: convert(source) }
}

/** Returns only the content of an object that may have other fields. */
export function contentOf(content: ModuleContent): ModuleContent {
  return mapContent<string, string>(content, (text) => text)
}

/**
 * Sorts files by path, in the same order as the runner: by the code points of the path, which is the order of its UTF-8 bytes.
 */
export function filesOf<Content>(
  byPath: Iterable<readonly [path: string, content: Content]>,
): readonly ModuleFile<Content>[] {
  const files = Array.from(byPath, ([path, content]) => ({ path, content }))
  return files.toSorted((a, b) => Buffer.compare(Buffer.from(a.path), Buffer.from(b.path)))
}

/** A module's content as requests and answers contain it: `{"source"}`, or `{"files"}` with the paths as keys. */
export function sentContent(content: ModuleContent) {
  const { source, files } = content
  if (!files) return { source }
  return { files: Object.fromEntries(files.map(({ path, content: text }) => [path, text])) }
}

/**
 * The SHA-256 of a module, as 64 hex digits. For one file, it is the SHA-256 of its bytes. For several files, it is the SHA-256
 * of the canonical JSON (RFC 8785) of `[{"path","sha256"}]`, ordered by path.
 */
export function contentSha256({ source, files }: ModuleContent<Uint8Array>): string {
  if (!files) return hash('sha256', source)
  return hash(
    'sha256',
    canonicalJson(files.map(({ path, content }) => ({ path, sha256: hash('sha256', content) }))),
  )
}

/**
 * The text whose bytes count as the size of a module's content: the source of its file, or the JSON of its files. The embedded
 * store keeps this text.
 */
export function keptText({ source, files }: ModuleContent): string {
  return files ? JSON.stringify(files) : source
}
