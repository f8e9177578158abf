import { composeWrap, dialectRules, guideText, modelProfile, nameIn, ToolrackError } from '@toolrack/contract'
import { READ } from '../../access/action.ts'
import type { Dialect, FittedTools, ModelProfile, Wrap } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import { FairQueue } from '../../fair-queue.ts'
import { Turns } from '../../loop-turn.ts'
import { definitionOf } from '../../catalog/views/catalog-entry.ts'
import type { CountedAnswer, TokenBill } from '../../catalog/views/counted-answer.ts'
import { layersText } from '../../catalog/views/list-answer.ts'
import { inOrder } from '../../catalog/views/list-query.ts'
import { JsonText } from '../../json/json-text.ts'
import { tokenCounter } from '../../catalog/tokens/token-counter.ts'
import { callerGone } from '../../http/caller.ts'
import { refuseParameters } from '../../http/query.ts'
import { readObject } from '../../http/read-body.ts'
import { route, type KnownRequest, type Route } from '../../http/route.ts'
import { sendJson } from '../../http/send-json.ts'
import { countedAnswerOf } from '../list/list-budget.ts'
import { resolveListFilter, filteredList, viewFilter } from '../list/list-filter.ts'
import { parseListQuery } from '../list/list-parameters.ts'
import type { ListParts } from '../list/list-parts.ts'
import { wrapInBody, type AskedWrap } from './wrap-body.ts'

/**
 * How many prompts are composed at the same time, in turns. Because of the turns, many long prompts delay a short one only a
 * little.
 */
const WRAPS_AT_ONCE = 32
/** The most requests for prompts of one user that may wait. Each of them may hold a body of a megabyte in memory. */
const WAITING_MAX = 20
/**
 * The most bytes of ready lists of tools that a server keeps for prompts. So the next prompt of a conversation can use the same
 * list.
 */
const TOOLS_BYTES_MAX = 8 * 1024 * 1024
const TOO_MANY = 'Too many of your prompts are being composed; ask for fewer at a time.'

/**
 * `POST /tools/wrap`: composes the text and the tools of a prompt within a number of tokens, and says how many tokens each layer
 * of the prompt takes. The tools are those of a list with the same scope, session, dialect and budget.
 */
export function wrapRoute(parts: ListParts): Route {
  const composing = new FairQueue(
    { places: WRAPS_AT_ONCE, placesPerUser: 1, waitingPerUser: WAITING_MAX, waitingMax: Infinity },
    () => new ToolrackError('SERVICE_BUSY', TOO_MANY),
  )
  const answers: Answers = new LRUCache({
    maxSize: TOOLS_BYTES_MAX,
    sizeCalculation: ({ body, placed }, key) => 1_024 + body.length + 2 * key.length + 200 * placed.length,
  })
  return route({
    method: 'POST',
    path: '/tools/wrap',
    schemas: async () => (await import('./wrap-schemas.ts')).WRAP,
    takesBody: true,
    ask: refuseParameters,
    action: READ,
    audit: 'none',
    async handle(request) {
      const { principal, res } = request
      const asked = wrapInBody(await readObject(request, 'wrap'))
      const gone = callerGone(res)
      const compose = () => wrapped(parts, answers, asked, principal, new Turns(gone))
      const { wrap, headers } = await composing.run(principal.uid, compose, gone)
      sendJson(res, 200, wrap, { 'Cache-Control': 'private, no-store', ...headers })
    },
  })
}

/** The tools of a prompt. `counts` says how many tools are in the list in full, short or deferred, and how many are dropped. */
type WrappedTools = { readonly list: JsonText; readonly counts: Omit<TokenBill, 'used' | 'budget'> }

/** Ready lists of tools. The key has everything on which the list depends. */
type Answers = LRUCache<string, CountedAnswer>

async function wrapped(
  parts: ListParts,
  answers: Answers,
  asked: AskedWrap,
  principal: KnownRequest['principal'],
  turns: Turns,
) {
  const listFilter = await resolveListFilter(parts, principal, asked.filterQuery)
  const { uid } = principal
  if (listFilter) parts.changes.views.know(uid, listFilter.revision, () => viewFilter(listFilter))
  const whole = await parts.listed.view(principal, listFilter?.session)
  const filtered = listFilter && (await turns.run(filteredList(whole, listFilter, principal)))
  const view = filtered?.view ?? whole
  const rank = await parts.usageRanks.of(principal.uid)
  const profile = await profileOf(parts, asked, principal.uid)
  const dialect = asked.dialect ?? profile?.dialect
  const bounds = { toolsMax: asked.maxTools ?? profile?.toolsMax, defers: profile?.defers }
  const count = await tokenCounter()
  let answered: CountedAnswer | undefined

  async function fitTools(tokens: number): Promise<FittedTools<WrappedTools>> {
    const search = searchOf(tokens, dialect, asked.more)
    const revisions = [whole.revision, listFilter?.revision, rank.revision]
    const key = JSON.stringify([principal.uid, revisions, search, bounds.toolsMax, bounds.defers])
    const query = parseListQuery(search, parts)
    const answer =
      answers.get(key) ??
      (await countedAnswerOf(parts, { view, query, listFilter, rank }, undefined, turns, bounds))
    answers.set(key, answer)
    answered = answer
    return fitted(answer, asked.guide ? guideOf(answer, dialect) : undefined)
  }

  const { targetTokens, toolsTokens, layers } = asked
  const counted = (text: string) => turns.run(count.steps(text))
  const composed = await composeWrap({ targetTokens, toolsTokens, layers, fitTools, count: counted })
  const { unmatched } = filtered ?? {}
  const { quarantined, unknown, leftOut } = answered ?? {}
  const headers = {
    'X-Tools-Revision': view.listRevision,
    'X-Tools-Layers': layersText(view),
    ...(unmatched !== undefined && { 'X-Tools-Scope-Unmatched': unmatched }),
    ...(quarantined !== undefined && { 'X-Tools-Quarantined': quarantined }),
    ...(unknown !== undefined && { 'X-Tools-Unknown': unknown }),
    ...(leftOut !== undefined && { 'X-Tools-Left-Out': leftOut }),
  }
  return { wrap: answerOf(composed), headers }
}

function answerOf({ tools: { list, counts }, bill: { total, layers }, ...texts }: Wrap<WrappedTools>) {
  return { ...texts, tools: list, bill: { total, layers, tools: counts } }
}

/** The profile of the model that the request names, or else of the session's model. Undefined if neither names one. */
async function profileOf(
  { sessions }: ListParts,
  { model, session }: AskedWrap,
  uid: string,
): Promise<ModelProfile | undefined> {
  const meant = model ?? (session === undefined ? null : (await sessions.find(uid, session)).model)
  return meant === null ? undefined : modelProfile(meant)
}

function searchOf(tokens: number, dialect: Dialect | undefined, more: AskedWrap['more']): string {
  const query = new URLSearchParams({ envelope: 'array', budget: String(tokens), ...more })
  if (dialect !== undefined) query.set('dialect', dialect)
  return query.toString()
}

function fitted({ body, bill }: CountedAnswer, guide: string | undefined): FittedTools<WrappedTools> {
  const { used, full, short, deferred, dropped } = bill
  const listed = full + short + deferred
  const isWhole = short + deferred + dropped === 0
  return {
    tools: { list: new JsonText(body.toString()), counts: { full, short, deferred, dropped } },
    tokens: listed === 0 ? 0 : used,
    outcome: isWhole ? 'whole' : listed === 0 ? 'dropped' : 'cut',
    guide,
  }
}

/**
 * A text for the model that describes the listed tools, in the order of the list. It also describes tools of which the list has
 * only the name.
 */
function guideOf({ placed }: CountedAnswer, dialect: Dialect | undefined): string | undefined {
  const listed = placed.filter(({ level }) => level !== undefined).map(({ entry }) => entry)
  return guideText(
    listed.toSorted(inOrder).map((entry) => {
      const { name, description, parameters } = definitionOf(entry).function
      const given = dialect === undefined ? name : nameIn(dialectRules(dialect), name)
      return { name: given, description, parameters }
    }),
  )
}
