import { aliasOf } from '@toolrack/contract'
import type { FolderLayer, FolderSkip, FolderTool } from './folder-layer.ts'

/** More time than the check of a module that hangs, and less than a client or a proxy waits for an answer. */
const REFRESH_MS_MAX = 30_000

const NO_FOLDER = {
  status: 'none',
  reason:
    'No folder of modules is watched here; the embedded server (npm start) watches ~/.toolrack/tools, or the folder that TOOLRACK_TOOLS_DIR names.',
  checking: [],
  tools: [],
  skipped: [],
} as const

/** The tools of the folder, and the skipped and unchecked files. Only an `operator` sees the folder's path and tracebacks. */
export async function folderAnswer(layer: FolderLayer | undefined, operator: boolean) {
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

/** Reads the folder again, waits at most `REFRESH_MS_MAX` for the checks, and names the tools that have changed. */
export async function refreshed(layer: FolderLayer | undefined, operator: boolean) {
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

export function toolAnswer({ name, file, line, module, admitted }: FolderTool) {
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
    ...(module.files && { files: module.files.map(({ path }) => path) }),
    category: category ?? null,
    annotations: annotations ?? null,
    limits: limits ?? null,
    network: runner?.['network'] ?? [],
    loadedAt: module.loadedAt.toISOString(),
  }
}

/** The reason why a file or spec is not in the list, and the older content that is used instead. */
export function skipAnswer({ file, detail, serving }: FolderSkip, operator: boolean) {
  const { traceback, ...facts } = detail
  return { file, ...facts, ...(operator && { traceback }), serving }
}
