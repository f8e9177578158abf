import type { ErrorDetail, Grant, Layer } from '@toolrack/contract'
import type { FolderFile } from './folder-file.ts'
import type { AskingModule, MergedModules } from './folder-layer.ts'

/** An event of a file in the folder, for the operator. `faults` are messages that name the file, the line and the cure. */
export type FolderNews = { readonly file: string } & (
  | {
      readonly kind: 'loaded'
      /** True if a fault of this file was reported to the operator before. */
      readonly again: boolean
      readonly tools: number
      /** The reasons why specs of the file were left out. */
      readonly faults: readonly string[]
      /** Set if the tools wait until somebody accepts these grants of the module. */
      readonly waits?: { readonly module: string; readonly grants: readonly Grant[] }
    }
  | {
      readonly kind: 'refused'
      readonly faults: readonly string[]
      /** True if an older content is used instead. */
      readonly serving: boolean
    }
  | { readonly kind: 'removed' }
  /** An uploaded module, whose tools wait until somebody accepts its grants. */
  | {
      readonly kind: 'waits'
      readonly layer: Layer
      readonly module: string
      readonly grants: readonly Grant[]
    }
  | { readonly kind: 'progress'; /** What is done with the file now, as a sentence. */ readonly text: string }
)

type Present = MergedModules & {
  readonly files: ReadonlyMap<string, FolderFile>
  /** The files whose present content is not checked yet. Their faults are still those of older content. */
  readonly checking: ReadonlySet<string>
  /** The modules that ask for grants. */
  readonly asking?: readonly AskingModule[]
}

type Told = { readonly key: string; readonly hadFaults: boolean }

/** Finds what has changed in the folder since the last call of `news`. Each content of a file is reported once. */
export class FolderReporter {
  readonly #told = new Map<string, Told>()

  news({ files, tools, skipped, checking, asking = [] }: Present): readonly FolderNews[] {
    const found: FolderNews[] = []
    for (const file of this.#told.keys()) {
      if (files.has(file)) continue
      this.#told.delete(file)
      found.push({ kind: 'removed', file })
    }
    const skippedOf = Map.groupBy(skipped, ({ mainFile }) => mainFile)
    const toolsOf = Map.groupBy(tools, ({ mainFile }) => mainFile)
    const waiting = new Map(asking.flatMap((one) => (one.isPending ? [[one.mainFile, one] as const] : [])))
    for (const { file, sha256, loaded, faults } of files.values()) {
      if (checking.has(file) || (!loaded && faults.length === 0)) continue
      const messages = (skippedOf.get(file) ?? []).map(({ detail }) => textOf(detail))
      const { module, grants, grantsDigest } = waiting.get(file) ?? {}
      const key = JSON.stringify([sha256, loaded?.sha256, messages, grantsDigest])
      const told = this.#told.get(file)
      if (told?.key === key) continue
      this.#told.set(file, { key, hadFaults: messages.length > 0 })
      const again = told?.hadFaults === true && messages.length === 0
      const count = toolsOf.get(file)?.length ?? 0
      const waits = module !== undefined && grants && { waits: { module, grants } }
      found.push(
        faults.length > 0
          ? { kind: 'refused', file, faults: messages, serving: loaded !== undefined }
          : { kind: 'loaded', file, again, tools: count, faults: messages, ...waits },
      )
    }
    return found
  }
}

function textOf({ message }: ErrorDetail): string {
  return typeof message === 'string' ? message : 'is left out'
}
