import { isJsonObject, ToolrackError, type JsonObject, type JsonValue } from '@toolrack/contract'
import { MINT } from './token-actions.ts'
import {
  isDigest,
  isWorkflowId,
  WORKFLOW_ID_RULE,
  JOB_TOKEN_SECONDS,
  JOB_TOKEN_TOOLS_MAX,
} from '../../access/job-token.ts'
import { readCallLimits } from '../../call-limits.ts'
import { mintJobToken, type MintRequest } from '../../access/mint-job-token.ts'
import type { GrantedTool } from '../../access/principal.ts'
import { refuseParameters } from '../../http/query.ts'
import { readObject } from '../../http/read-body.ts'
import { route, type Route } from '../../http/route.ts'
import { sendJson } from '../../http/send-json.ts'
import type { SignJobToken } from '../../access/job-token.ts'
import type { Catalog } from '../../catalog/views/catalog.ts'
import type { RuleBook } from '../rules/rule-book.ts'

type Parts = {
  readonly catalog: Catalog
  readonly ruleBook: RuleBook
  /** Undefined on a server that has no keys for job tokens. */
  readonly signJobToken?: SignJobToken | undefined
  readonly now: () => number
}

const TOOL_RULE = 'it must be {"name": "…", "digest": "sha256:…"}, as explain shows them'
const NO_KEY = 'This server has no key that signs job tokens; set TOOLRACK_JOB_KEYS.'

/** `POST /jobs/tokens`: makes a short-lived token for a workflow that acts for the user, only with the named tools. */
export function tokenRoute({ catalog, ruleBook, signJobToken: sign, now }: Parts): Route {
  return route({
    method: 'POST',
    path: '/jobs/tokens',
    schemas: async () => (await import('./token-schemas.ts')).CREATE_TOKEN,
    takesBody: true,
    ask: refuseParameters,
    action: MINT,
    async handle(request) {
      const { principal, res } = request
      const wanted = mintRequest(await readObject(request, 'token'))
      if (!sign) throw new ToolrackError('KEYS_UNAVAILABLE', NO_KEY)
      // `of` throws if rules cannot be read. Then no token is made, because it would outlive the fault.
      const view = (await catalog.view(principal)).ruledBy(await ruleBook.of(principal))
      const minted = await mintJobToken(principal, wanted, { view, sign, now })
      const tools = minted.tools.map(({ name, digest }) => `${name}@${digest}`)
      request.note?.({
        workflow: wanted.workflowId,
        revision: view.revision,
        subject: { tools, expiresAt: minted.expiresAt },
      })
      sendJson(res, 201, minted, { 'Cache-Control': 'private, no-store' })
    },
  })
}

function mintRequest(body: JsonObject): MintRequest {
  const { workflowId, tools, ttl = JOB_TOKEN_SECONDS.standard, limits: sent, ...rest } = body
  if (Object.keys(rest).length > 0)
    throw invalid('', 'it takes workflowId, tools, ttl and limits, and nothing else')
  if (typeof workflowId !== 'string' || !isWorkflowId(workflowId))
    throw invalid('/workflowId', `it ${WORKFLOW_ID_RULE}`)
  if (typeof ttl !== 'number' || !Number.isInteger(ttl) || ttl < 1 || ttl > JOB_TOKEN_SECONDS.max)
    throw invalid('/ttl', `it must be a whole number of seconds from 1 to ${JOB_TOKEN_SECONDS.max}`)
  if (!Array.isArray(tools) || tools.length < 1 || tools.length > JOB_TOKEN_TOOLS_MAX)
    throw invalid('/tools', `it must be a list of 1 to ${JOB_TOKEN_TOOLS_MAX} tools`)
  const limits = sent === undefined ? undefined : readCallLimits(sent)
  if (limits && 'fault' in limits) throw invalid(`/limits${limits.at}`, limits.fault)
  return { workflowId, ttlSeconds: ttl, tools: tools.map(grantedTool), limits }
}

function grantedTool(value: JsonValue, index: number): GrantedTool {
  const { name, digest, ...rest } = isJsonObject(value) ? value : {}
  if (typeof name !== 'string' || !isDigest(digest) || Object.keys(rest).length > 0)
    throw invalid(`/tools/${index}`, TOOL_RULE, index)
  return { name, digest }
}

function invalid(pointer: string, fault: string, index?: number): ToolrackError {
  return new ToolrackError('BODY_INVALID', `The body${pointer && ` at ${pointer}`}: ${fault}.`, {
    details: [{ reason: 'BODY_INVALID', ...(index !== undefined && { index }), pointer }],
  })
}
