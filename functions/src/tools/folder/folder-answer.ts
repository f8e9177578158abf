import { aliasOf } from '@toolrack/contract'
import type { JsonObject, JsonValue } from '@toolrack/contract'
import type { FolderLayer } from './folder-layer.ts'
import type { FolderSkip, FolderTool } from './merge-modules.ts'

/** Where there is no folder at all. */
const NO_FOLDER = {
  status: 'none',
  reason:
    'No folder of modules is watched here; the embedded server (npm start) watches ~/.toolrack/tools, or the folder that TOOLRACK_TOOLS_DIR names.',
  checking: [],
  tools: [],
  skipped: [],
} as const

/**
 * What the folder holds, what is left out, and what is still being checked. Only an `operator` is told the folder's path
 * and the lines of code in a traceback.
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

/** One tool, where it comes from and since when. */
export function toolAnswer({ name, file, line, module, admitted }: FolderTool): JsonObject {
  const { function: described, category, annotations, limits, runner } = admitted.definition
  const { digest } = admitted
  return {
    name,
    alias: aliasOf(name),
    description: described.description ?? '',
    file,
    line,
    digest,
    module: module.name,
    sha256: module.sha256,
    category: category ?? null,
    annotations: (annotations as JsonValue | undefined) ?? null,
    limits: (limits as JsonValue | undefined) ?? null,
    network: runner?.['network'] ?? [],
    loadedAt: module.loadedAt.toISOString(),
  }
}

/** Why something of the folder is not in the list, and which older content serves in its place. */
export function skipAnswer({ file, detail, serving }: FolderSkip, operator: boolean): JsonObject {
  const { traceback, ...told } = detail
  const facts = Object.entries({ ...told, ...(operator && { traceback }) })
  const known = facts.filter((fact): fact is [string, JsonValue] => fact[1] !== undefined)
  return { file, ...Object.fromEntries(known), serving }
}
