import { aliasOf, ToolrackError } from '@toolrack/contract'
import type { ErrorDetail } from '@toolrack/contract'
import { decide } from '../access/decide.ts'
import { skipAnswer, toolAnswer } from '../folder/folder-answer.ts'
import type { MergedModules } from '../folder/merge-modules.ts'
import { refuseParameters } from '../http/query.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'

const NONE: MergedModules = { tools: [], skipped: [] }

/** `GET /api/tools/{name}`: one tool of the folder by name or alias; why it is left out, where it is. */
export async function getFolderTool({ services, principal, search, name, res }: RouteRequest): Promise<void> {
  refuseParameters(search)
  const operator = decide(principal, { verb: 'read-modules', layer: 'file' }).allowed
  const { tools, skipped } = (await services.folder?.modules()) ?? NONE
  const tool = tools.find((one) => one.name === name) ?? tools.find((one) => aliasOf(one.name) === name)
  if (!tool) {
    const left = skipped.filter(({ detail }) => isNamed(detail, name))
    const [first] = left.map(({ detail }) => detail['message'])
    throw new ToolrackError('TOOL_NOT_FOUND', typeof first === 'string' ? first : NOT_THERE, {
      details: left.map((skip) => ({ ...skipAnswer(skip, operator), reason: skip.detail.reason })),
    })
  }
  const { definition } = tool.admitted
  const report = operator ? { report: reportOf(tool.module.report, tool.name) } : {}
  sendJson(res, 200, { ...toolAnswer(tool), definition, ...report })
}

const NOT_THERE = 'The folder of modules has no tool of that name.'

function isNamed({ name }: ErrorDetail, wanted: string): boolean {
  return typeof name === 'string' && (name === wanted || aliasOf(name) === wanted)
}

/** What came of the tool's spec when it was checked. */
function reportOf({ specs }: MergedModules['tools'][number]['module']['report'], name: string): unknown {
  const all = Array.isArray(specs) ? (specs as readonly { readonly name?: unknown }[]) : []
  return all.find((spec) => spec.name === name) ?? null
}
