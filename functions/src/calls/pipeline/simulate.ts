import { ToolrackError, toolNameFault, isToolName, type JsonObject } from '@toolrack/contract'
import type { Catalog } from '../../tools/catalog/catalog.ts'
import type { CallingSession, RuleBook } from './rule-book.ts'

type Parts = { readonly catalog: Pick<Catalog, 'view'>; readonly ruleBook: Pick<RuleBook, 'of'> }
type Caller = {
  readonly uid: string
  readonly workflowId: string | undefined
  readonly session?: CallingSession
}

/** What the rules say of a call of this caller. `listed` says whether the list shows the tool. Nothing is run. */
export async function simulate({ catalog, ruleBook }: Parts, caller: Caller, name: string, args: JsonObject) {
  if (!isToolName(name)) throw new ToolrackError('TOOL_NOT_FOUND', `Unsupported tool: ${toolNameFault(name)}`)
  const rules = await ruleBook.of(caller, caller.session)
  const view = (await catalog.view({ uid: caller.uid })).ruledBy(rules)
  const entry = view.meaning(name)
  if (!entry) throw new ToolrackError('TOOL_NOT_FOUND', 'The catalog has no tool of that name.')
  const decision = rules.decide(entry, args)
  return { name: entry.name, ...decision, classes: entry.classes, listed: view.resolve(name) !== undefined }
}
