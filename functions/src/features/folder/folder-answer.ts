import { aliasOf } from '@toolrack/contract'
import type { FolderSkip, FolderTool } from './folder-layer.ts'
import type { FolderLayers } from './folder-layers.ts'
import type { ModuleFolder } from './module-folder.ts'

/**
 * The longest wait of a refresh, in milliseconds. The check of a module that hangs ends earlier. Clients and proxies wait longer.
 */
const REFRESH_MS_MAX = 30_000

const NO_FOLDER = {
  status: 'none',
  reason:
    'No folder of modules is watched here; the embedded server (npm start) watches ~/.toolrack/tools and ~/.copilot-web/tools, or the folder that TOOLRACK_TOOLS_DIR names.',
  checking: [],
  tools: [],
  skipped: [],
} as const

/**
 * The tools of the watched folders, and the files that were skipped or not checked yet. The answer has the state of the first
 * folder that exists, and in `others` the states of the other folders. Only an `operator` sees paths and tracebacks.
 */
export async function folderAnswer(folders: FolderLayers | undefined, operator: boolean) {
  const watched = folders?.layers.map(({ folder }) => folder) ?? []
  const found = watched.filter(({ state }) => state.status !== 'missing')
  const [first = watched[0], ...others] = found
  if (!folders || !first) return { ...(operator && { folder: null }), ...NO_FOLDER }
  const { tools, skipped } = await folders.modules()
  return {
    ...stateAnswer(first, operator),
    ...(others.length > 0 && { others: others.map((folder) => stateAnswer(folder, operator)) }),
    checking: [first, ...others].flatMap(({ checking }) => checking),
    tools: tools.map(toolAnswer),
    skipped: skipped.map((skip) => skipAnswer(skip, operator)),
  }
}

function stateAnswer({ path, state }: ModuleFolder, operator: boolean) {
  const reason = 'reason' in state ? state.reason : null
  return { ...(operator && { folder: path }), status: state.status, reason }
}

/** Reads the folders again, waits at most `REFRESH_MS_MAX` for the checks, and names the tools that have changed. */
export async function refreshed(folders: FolderLayers | undefined, operator: boolean) {
  const before = await digests(folders)
  await folders?.refresh(REFRESH_MS_MAX)
  const after = await digests(folders)
  const { tools: _tools, ...answer } = await folderAnswer(folders, operator)
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

async function digests(folders: FolderLayers | undefined): Promise<ReadonlyMap<string, string>> {
  const tools = (await folders?.modules())?.tools ?? []
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

/** The part of an answer about a file or spec that is not in the list: the reason, and the older content that is used instead. */
export function skipAnswer({ file, detail, serving }: FolderSkip, operator: boolean) {
  const { traceback, ...facts } = detail
  return { file, ...facts, ...(operator && { traceback }), serving }
}
