import type { ListQuery } from '../../functions/src/catalog/views/list-query.ts'

/** The query of a request without parameters. */
export const ALL: ListQuery = {
  names: 'all',
  tags: new Set(),
  categories: new Set(),
  dialect: undefined,
  envelope: 'array',
  itemNames: 'canonical',
  strict: false,
  healthy: false,
  limit: undefined,
  q: undefined,
  explainsScores: false,
  withSearch: false,
  loaded: [],
  after: undefined,
  budget: undefined,
  countsTokens: false,
}
