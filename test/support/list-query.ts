import type { ListQuery } from '../../functions/src/tools/catalog/list-query.ts'

/** What a request without a parameter asks for. */
export const ALL: ListQuery = {
  names: 'all',
  tags: new Set(),
  categories: new Set(),
  dialect: undefined,
  envelope: 'array',
  strict: false,
  limit: undefined,
  after: undefined,
}
