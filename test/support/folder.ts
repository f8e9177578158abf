import type { JsonObject } from '@toolrack/contract'
import type { Server } from './server.ts'
import { until } from './until.ts'

export type FolderSkip = {
  readonly file: string
  readonly reason: string
  readonly kind?: string
  readonly name?: string
  readonly line?: number
  readonly message: string
  readonly serving: string | null
}

export type FolderBody = {
  readonly folder?: string | null
  readonly status: string
  readonly reason: string | null
  readonly checking: readonly { readonly file: string; readonly reason: string | null }[]
  readonly tools: readonly ({
    readonly name: string
    readonly file: string
    readonly sha256: string
  } & JsonObject)[]
  readonly skipped: readonly FolderSkip[]
}

/** The answer of `GET /api/tools`. */
export async function folderBody(server: Server): Promise<FolderBody> {
  const answer = await server.fetch('/api/tools')
  if (answer.status !== 200) throw new Error(`/api/tools answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as FolderBody
}

/** Waits until the answer of `GET /api/tools` is the wanted one. */
export function folderWhen(server: Server, isWanted: (body: FolderBody) => boolean): Promise<FolderBody> {
  return until(() => folderBody(server), isWanted)
}

/** Waits until everything is checked and these are the tools of the folder, or of one of its files. */
export function folderHas(server: Server, names: readonly string[], file?: string): Promise<FolderBody> {
  const wanted = JSON.stringify(names.toSorted())
  const counts = (one: { readonly file: string }): boolean => file === undefined || one.file === file
  return folderWhen(server, ({ checking, tools }) => {
    const some = tools.filter(counts)
    return !checking.some(counts) && JSON.stringify(some.map(({ name }) => name).toSorted()) === wanted
  })
}

export type RefreshBody = Omit<FolderBody, 'tools'> & {
  readonly tools: Readonly<Record<'added' | 'changed' | 'removed' | 'unchanged', readonly string[]>>
}

export async function refreshed(server: Server): Promise<RefreshBody> {
  const answer = await server.fetch('/api/tools/refresh', { method: 'POST' })
  if (answer.status !== 200) throw new Error(`the refresh answered ${answer.status}: ${await answer.text()}`)
  return (await answer.json()) as RefreshBody
}
