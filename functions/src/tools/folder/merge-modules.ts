import type { ErrorDetail } from '@toolrack/contract'
import type { AdmittedDefinition } from '../definitions/admit-definition.ts'
import { faultDetail } from '../modules/admit-module.ts'
import type { FolderFile, LoadedModule } from './folder-file.ts'

/** A tool of the folder as the file layer has it. */
export type FolderTool = {
  readonly name: string
  readonly file: string
  readonly line: number | null
  readonly module: LoadedModule
  readonly admitted: AdmittedDefinition
}

/** What is left out: a file, or one spec of it. */
export type FolderSkip = {
  readonly file: string
  readonly detail: ErrorDetail
  /** Of the older content that goes on in place of the file's; none where nothing of the file serves. */
  readonly serving: string | null
}

export type MergedModules = { readonly tools: readonly FolderTool[]; readonly skipped: readonly FolderSkip[] }

/**
 * The tools of all files, by file name. A name belongs to the first that has it, and before all files to who is in `taken`,
 * which says where; the others are told whose it is.
 */
export function mergeModules(files: Iterable<FolderFile>, taken: ReadonlyMap<string, string>): MergedModules {
  const tools = new Map<string, FolderTool>()
  const skipped: FolderSkip[] = []
  for (const { file, loaded, faults } of files) {
    for (const detail of faults) skipped.push({ file, detail, serving: loaded?.sha256 ?? null })
    for (const { spec, admitted, faults: refused } of loaded?.specs ?? []) {
      for (const fault of refused)
        skipped.push({ file, detail: faultDetail(fault, spec.name), serving: null })
      if (!admitted || !loaded) continue
      const { name } = admitted.definition.function
      const first = tools.get(name)
      const owner = taken.get(name) ?? (first && placeOf(first))
      if (owner === undefined) tools.set(name, { name, file, line: spec.line, module: loaded, admitted })
      else skipped.push({ file, detail: nameTaken(file, spec.line, name, owner), serving: null })
    }
  }
  return { tools: [...tools.values()], skipped }
}

/** `weather.py, line 16`, as messages about modules begin. */
export function placeOf({ file, line }: { readonly file: string; readonly line: number | null }): string {
  return line === null ? file : `${file}, line ${line}`
}

function nameTaken(file: string, line: number | null, name: string, owner: string): ErrorDetail {
  const message = `${placeOf({ file, line })}: the name '${name}' is taken by ${owner}. Names are unique in the file layer; rename one of them.`
  return { reason: 'NAME_TAKEN', kind: 'name_taken', name, message, ...(line !== null && { line }) }
}
