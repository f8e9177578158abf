import type { ListParts } from '../list/list-parts.ts'
import { wrapRoute } from './wrap-route.ts'

/** Composes prompts with tools that fit within a number of tokens. */
export const wrap = { name: 'wrap', routes: (parts: ListParts) => [wrapRoute(parts)] }
