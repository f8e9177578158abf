import type { ListQuery } from '../../functions/src/tools/catalog/list-query.ts'

/** What a request without a parameter asks for. */
export const ALL: ListQuery = {
  names: 'all',
  tags: [],
  categories: [],
  dialect: undefined,
  envelope: 'array',
  strict: false,
  limit: undefined,
  after: undefined,
}
