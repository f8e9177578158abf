import { grantsDigest, grantsOf, sortedGrants, type Grant, type ToolDefinition } from '@toolrack/contract'
import type { StoredDefinition } from '../views/layer-source.ts'
import type { PresentGrants } from './decide-consent.ts'
import type { ModuleGrants, ModuleSummary } from './module-store.ts'
import { managingModule } from './plan-write.ts'

/**
 * The grants and the consent of the present version of a module. A version that was written before grants were recorded has
 * those of its definitions.
 */
export function presentGrants(
  name: string,
  present: ModuleSummary,
  current: ReadonlyMap<string, StoredDefinition>,
): PresentGrants {
  if (isRecorded(present)) return present
  const grants = sortedGrants(ownDefinitions(name, present, current).flatMap(grantsIn))
  return { grants, grantsDigest: grantsDigest(grants), consent: null, isUnrecorded: true }
}

/** False for a record that an earlier version has written. */
export function isRecorded(module: ModuleSummary): module is ModuleSummary & ModuleGrants {
  return module.grantsDigest !== undefined
}

/** The definitions that belong to the module. Another program may have replaced one of them. */
export function ownDefinitions(
  name: string,
  { tools }: ModuleSummary,
  current: ReadonlyMap<string, StoredDefinition>,
): readonly StoredDefinition[] {
  return tools.flatMap((tool) => {
    const stored = current.get(tool)
    return stored && managingModule(stored) === name ? [stored] : []
  })
}

function grantsIn({ text }: StoredDefinition): readonly Grant[] {
  return grantsOf((JSON.parse(text) as ToolDefinition).runner)
}
