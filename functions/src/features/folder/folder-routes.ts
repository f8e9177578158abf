import { aliasOf, ToolrackError, type ErrorDetail } from '@toolrack/contract'
import { onLayer, READ } from '../../access/action.ts'
import { folderAnswer, refreshed, skipAnswer, toolAnswer } from './folder-answer.ts'
import type { MergedModules } from './folder-layer.ts'
import { refuseParameters } from '../../http/query.ts'
import { route, type Route } from '../../http/route.ts'
import { REFRESH } from './folder-actions.ts'
import { sendJson } from '../../http/send-json.ts'
import type { FolderLayers } from './folder-layers.ts'

/** What all routes here have in common. Only callers who may read the modules get the folder's path, tracebacks and reports. */
const SHARED = {
  isRoot: true,
  ask: refuseParameters,
  inFull: onLayer('read-modules', 'file'),
} as const

/** `folder` is undefined if no folder is watched. Then all answers are empty. */
type Parts = { readonly folder?: FolderLayers | undefined }

export function folderRoutes({ folder }: Parts): readonly Route[] {
  return [
    // The tools of the folder with their files, and the skipped items with the reasons.
    route({
      method: 'GET',
      path: '/api/tools',
      schemas: async () => (await import('./folder-schemas.ts')).READ_FOLDER,
      action: READ,
      ...SHARED,
      async handle({ inFull, res }) {
        sendJson(res, 200, await folderAnswer(folder, inFull))
      },
    }),
    // Reads the folder again, waits until all of its modules are checked, and lists what has changed.
    route({
      method: 'POST',
      path: '/api/tools/refresh',
      schemas: async () => (await import('./folder-schemas.ts')).REFRESH_FOLDER,
      action: REFRESH,
      audit: { kind: 'refresh' },
      ...SHARED,
      async handle({ inFull, res }) {
        sendJson(res, 200, await refreshed(folder, inFull))
      },
    }),
    // One tool of the folder by name or alias, or the reason why the tool was skipped.
    route({
      method: 'GET',
      path: '/api/tools/:name',
      schemas: async () => (await import('./folder-schemas.ts')).READ_FOLDER_TOOL,
      action: READ,
      ...SHARED,
      async handle({ inFull, params: { name }, res }) {
        const { tools = [], skipped = [] } = (await folder?.modules()) ?? {}
        const tool = tools.find((one) => one.name === name) ?? tools.find((one) => aliasOf(one.name) === name)
        if (!tool) throw whyNone(skipped, name, inFull)
        const { definition } = tool.admitted
        const report = inFull ? { report: reportOf(tool.module.report, tool.name) } : {}
        sendJson(res, 200, { ...toolAnswer(tool), definition, ...report })
      },
    }),
  ]
}

const NOT_THERE = 'The folder of modules has no tool of that name.'

function whyNone(skipped: MergedModules['skipped'], name: string, inFull: boolean): ToolrackError {
  const found = skipped.filter(({ detail }) => isNamed(detail, name))
  const [first] = found.map(({ detail }) => detail['message'])
  return new ToolrackError('TOOL_NOT_FOUND', typeof first === 'string' ? first : NOT_THERE, {
    details: found.map((skip) => ({ ...skipAnswer(skip, inFull), reason: skip.detail.reason })),
  })
}

function isNamed({ name }: ErrorDetail, wanted: string): boolean {
  return typeof name === 'string' && (name === wanted || aliasOf(name) === wanted)
}

function reportOf({ specs }: MergedModules['tools'][number]['module']['report'], name: string): unknown {
  const all = Array.isArray(specs) ? (specs as readonly { readonly name?: unknown }[]) : []
  return all.find((spec) => spec.name === name) ?? null
}
