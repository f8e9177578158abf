import type { JsonObject } from '@toolrack/contract'
import { folderAnswer } from './folder-answer.ts'
import type { FolderLayer } from './folder-layer.ts'
import type { FolderTool } from './merge-modules.ts'

/** Above what one module may take that hangs, below what a client or a proxy waits for an answer. */
const WAIT_MS_MAX = 30_000

/** Has the folder read anew, waits until it is settled or for half a minute, and tells what has changed by it. */
export async function refreshed(layer: FolderLayer | undefined, operator: boolean): Promise<JsonObject> {
  const before = await digests(layer)
  await layer?.folder.refresh(WAIT_MS_MAX)
  const after = await digests(layer)
  const { tools: _tools, ...answer } = await folderAnswer(layer, operator)
  const names = [...after.keys()]
  return {
    ...answer,
    tools: {
      added: names.filter((name) => !before.has(name)),
      changed: names.filter((name) => before.has(name) && before.get(name) !== after.get(name)),
      removed: [...before.keys()].filter((name) => !after.has(name)),
      unchanged: names.filter((name) => before.get(name) === after.get(name)),
    },
  }
}

async function digests(layer: FolderLayer | undefined): Promise<ReadonlyMap<string, string>> {
  const tools: readonly FolderTool[] = (await layer?.modules())?.tools ?? []
  return new Map(tools.map(({ name, admitted }) => [name, admitted.digest]))
}
