import type { Dialect } from '@toolrack/contract'
import { aliasObstacle } from './alias-obstacle.ts'
import type { CatalogEntry } from './catalog-entry.ts'
import type { CatalogView } from './catalog-view.ts'
import type { DialectFragments } from './dialect-fragments.ts'
import { ARRAY, DECLARATIONS, joinFragments, joinItems } from './join-fragments.ts'
import { about, namesText } from './list-answer.ts'
import type { ListAnswer } from './list-answer.ts'
import type { ListQuery } from './list-query.ts'
import { selectEntries } from './select-entries.ts'
import type { Listed } from './select-entries.ts'

/** Builds a list as a vendor's `tools` field takes it; what the vendor would refuse is left out and named. */
export function dialectAnswer(
  view: CatalogView,
  query: ListQuery & { readonly dialect: Dialect },
  defaultWorkflow: string,
  fragments: Pick<DialectFragments, 'of'>,
): ListAnswer {
  const { dialect } = query
  const quarantined: string[] = []

  function shape(entry: CatalogEntry): Listed | undefined {
    const made = fragments.of(entry, dialect)
    const isHidden = dialect !== 'gemini' && aliasObstacle(view, entry) !== undefined
    if ('fragment' in made && !isHidden) return { fragment: made.fragment, workflowName: entry.workflowName }
    quarantined.push(entry.name)
    return undefined
  }

  const selection = selectEntries(view, query, shape)
  return {
    body: join(selection.listed, query, defaultWorkflow),
    quarantined: quarantined.length > 0 ? namesText(quarantined) : undefined,
    ...about(view, selection),
  }
}

function join(listed: readonly Listed[], { dialect, envelope }: ListQuery, defaultWorkflow: string): Buffer {
  if (envelope === 'items') return joinItems(listed, defaultWorkflow)
  // A tool that declares nothing is one that Gemini refuses.
  return joinFragments(dialect === 'gemini' && listed.length > 0 ? DECLARATIONS : ARRAY, listed)
}
