import type { VariableValues } from '../../settings/variables.ts'
import type { ListParts } from './list-parts.ts'
import { LIST_SETTINGS } from './list-settings.ts'
import { explainRoute, listRoutes } from './list-tools.ts'

type Needs = { readonly settings: VariableValues<typeof LIST_SETTINGS> }

/** The lists of tools for models. */
export const list = {
  name: 'list',
  settings: LIST_SETTINGS,
  create: ({ settings }: Needs) => ({
    envelope: settings.LIST_ENVELOPE,
    itemNames: settings.LIST_ITEM_NAMES,
    defaultWorkflow: settings.TOOLRACK_DEFAULT_WORKFLOW,
    invokeWorkflow: settings.TOOLRACK_INVOKE_WORKFLOW,
  }),
  routes: (parts: ListParts) => [...listRoutes(parts), explainRoute(parts)],
}
