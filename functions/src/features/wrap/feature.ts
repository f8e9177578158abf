import type { ListParts } from '../list/list-parts.ts'
import { wrapRoute } from './wrap-route.ts'

/** Prompts with tools within a number of tokens. */
export const wrap = { name: 'wrap', routes: (parts: ListParts) => [wrapRoute(parts)] }
