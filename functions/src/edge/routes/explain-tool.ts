import { isToolName } from '@toolrack/contract'
import type { Catalog } from '../../tools/catalog/catalog.ts'
import { explainName } from '../../tools/catalog/explain-name.ts'
import { invalidParameter, Query } from '../http/query.ts'
import { route } from '../http/route.ts'
import type { FoundRequest, Route } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'

/** `GET /tools/explain`: what each layer says of a name, and which definition wins. */
export function explainRoute({ catalog }: { readonly catalog: Catalog }): Route {
  return route({
    method: 'GET',
    path: '/tools/explain',
    ask: askedName,
    action: { verb: 'read' },
    async handle({ principal, asked: name, res }) {
      sendJson(res, 200, explainName(await catalog.view(principal), name))
    },
  })
}

function askedName({ search }: FoundRequest): string {
  const name = new Query(search, ['name']).required('name')
  if (!isToolName(name)) throw invalidParameter('name', 'must be one tool name or alias')
  return name
}
