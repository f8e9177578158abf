import type { DialectRules } from '@toolrack/contract'
import type { CatalogEntry } from './catalog-entry.ts'
import type { CatalogView } from './catalog-view.ts'
import type { DialectFragments } from './dialect-fragments.ts'
import { aliasFault } from './explain-dialects.ts'
import { ARRAY, inOneTool, joinFragments, joinItems } from './join-fragments.ts'
import { about, namesText, type ListAnswer } from './list-answer.ts'
import type { ListQuery } from './list-query.ts'
import { selectEntries, type Listed } from './select-entries.ts'

/** Makes the list for a vendor's `tools` field. Tools that the vendor would refuse are left out and named. */
export function dialectAnswer(
  view: CatalogView,
  query: ListQuery,
  dialect: DialectRules,
  defaultWorkflow: string,
  fragments: Pick<DialectFragments, 'of'>,
): ListAnswer {
  const quarantined: string[] = []

  function shape(entry: CatalogEntry): Listed | undefined {
    const made = fragments.of(entry, dialect)
    if ('fragment' in made && !aliasFault(view, entry.name, dialect))
      return { fragment: made.fragment, workflowName: entry.workflowName }
    quarantined.push(entry.name)
    return undefined
  }

  const selection = selectEntries(view, query, shape)
  const { listed } = selection
  const { declarationsKey } = dialect
  // Gemini refuses a tool without declarations, so an empty list stays an empty array.
  const ends = declarationsKey !== undefined && listed.length > 0 ? inOneTool(declarationsKey) : ARRAY
  return {
    body: query.envelope === 'items' ? joinItems(listed, defaultWorkflow) : joinFragments(ends, listed),
    quarantined: quarantined.length > 0 ? namesText(quarantined) : undefined,
    ...about(view, selection),
  }
}
