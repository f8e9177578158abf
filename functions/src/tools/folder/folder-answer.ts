import { aliasOf, type JsonObject, type JsonValue } from '@toolrack/contract'
import type { FolderLayer, FolderSkip, FolderTool } from './folder-layer.ts'

/** More than a module that hangs may take, and less than a client or a proxy waits for an answer. */
const REFRESH_MS_MAX = 30_000

const NO_FOLDER = {
  status: 'none',
  reason:
    'No folder of modules is watched here; the embedded server (npm start) watches ~/.toolrack/tools, or the folder that TOOLRACK_TOOLS_DIR names.',
  checking: [],
  tools: [],
  skipped: [],
} as const

/**
 * What the folder holds, what is left out, and what is still being checked. Only an `operator` sees the folder's path and the
 * lines of code in a traceback.
 */
export async function folderAnswer(layer: FolderLayer | undefined, operator: boolean): Promise<JsonObject> {
  if (!layer) return { ...(operator && { folder: null }), ...NO_FOLDER }
  const { path, state, checking } = layer.folder
  const { tools, skipped } = await layer.modules()
  return {
    ...(operator && { folder: path }),
    status: state.status,
    reason: 'reason' in state ? state.reason : null,
    checking,
    tools: tools.map(toolAnswer),
    skipped: skipped.map((skip) => skipAnswer(skip, operator)),
  }
}

/** Reads the folder again, waits up to half a minute for the checks, and names the tools that have changed. */
export async function refreshed(layer: FolderLayer | undefined, operator: boolean): Promise<JsonObject> {
  const before = await digests(layer)
  await layer?.folder.refresh(REFRESH_MS_MAX)
  const after = await digests(layer)
  const { tools: _tools, ...answer } = await folderAnswer(layer, operator)
  const names = [...after.keys()]
  const kept = names.filter((name) => before.has(name))
  return {
    ...answer,
    tools: {
      added: names.filter((name) => !before.has(name)),
      changed: kept.filter((name) => before.get(name) !== after.get(name)),
      removed: [...before.keys()].filter((name) => !after.has(name)),
      unchanged: kept.filter((name) => before.get(name) === after.get(name)),
    },
  }
}

async function digests(layer: FolderLayer | undefined): Promise<ReadonlyMap<string, string>> {
  const tools = (await layer?.modules())?.tools ?? []
  return new Map(tools.map(({ name, admitted }) => [name, admitted.digest]))
}

export function toolAnswer({ name, file, line, module, admitted }: FolderTool): JsonObject {
  const { function: described, category, annotations, limits, runner } = admitted.definition
  return {
    name,
    alias: aliasOf(name),
    description: described.description,
    file,
    line,
    digest: admitted.digest,
    module: module.name,
    sha256: module.sha256,
    category: category ?? null,
    annotations: (annotations as JsonValue | undefined) ?? null,
    limits: (limits as JsonValue | undefined) ?? null,
    network: runner?.['network'] ?? [],
    loadedAt: module.loadedAt.toISOString(),
  }
}

/** Why something of the folder is not in the list, and which older content serves instead. */
export function skipAnswer({ file, detail, serving }: FolderSkip, operator: boolean): JsonObject {
  const { traceback, ...told } = detail
  const facts = Object.entries({ ...told, ...(operator && { traceback }) })
  const known = facts.filter((fact): fact is [string, JsonValue] => fact[1] !== undefined)
  return { file, ...Object.fromEntries(known), serving }
}
