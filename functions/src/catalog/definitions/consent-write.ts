import { ToolrackError, type Digest } from '@toolrack/contract'
import type { StoredDefinition } from '../views/layer-source.ts'
import { isAcceptedBy, refuseOtherDigest, type Consent } from './decide-consent.ts'
import type { DefinitionPut, WriteContext } from './definition-change.ts'
import { changesOf, currentIn, writeDefinitions, type FoundModule, type LayerWrite } from './layer-write.ts'
import type { ModuleGrants, ModuleSummary } from './module-store.ts'
import { withPending } from './pending-text.ts'
import type { PlannedChange } from './plan-write.ts'
import { isRecorded, ownDefinitions, presentGrants } from './present-grants.ts'
import { grantsText } from './stored-records.ts'

/** Accepts the grants of a module that have this digest, or revokes the consent if there is no digest. */
export type ConsentChange = { readonly name: string; readonly accepts: Digest | undefined }

/** The grants of a module after a consent or its revocation. */
export type ConsentResult = ModuleGrants & {
  readonly outcome: 'updated' | 'unchanged'
  /** True if the tools of the module wait for consent now. */
  readonly isPending: boolean
}

/** What `planConsent` has decided: the new grants of the record, and the definitions whose text changes. */
export type PlannedConsent = { readonly result: ConsentResult; readonly puts: readonly DefinitionPut[] }

/**
 * Decides what a consent or its revocation changes. `present` is the module, and `current` has its definitions. A transaction
 * has read both. Throws MODULE_NOT_FOUND, or DIGEST_CHANGED if the grants of the module have another digest than the accepted
 * one.
 */
export function planConsent(
  { name, accepts }: ConsentChange,
  present: ModuleSummary | undefined,
  current: ReadonlyMap<string, StoredDefinition>,
  { by, at }: WriteContext,
): PlannedConsent {
  if (!present) throw new ToolrackError('MODULE_NOT_FOUND')
  const { grants, grantsDigest: digest, consent: before } = presentGrants(name, present, current)
  if (accepts !== undefined) refuseOtherDigest(accepts, digest)
  const isAccepted = accepts !== undefined && isAcceptedBy(before, accepts)
  const isRevoked = accepts === undefined
  const given: Consent = { digest, by, at: at.toISOString(), ...(isRevoked && { isRevoked }) }
  const consent = isAccepted ? before : given
  const isPending = isRevoked && grants.length > 0
  const puts = ownDefinitions(name, present, current).flatMap((stored): DefinitionPut[] => {
    const text = withPending(stored.text, isPending ? digest : undefined)
    const { digest: ofTool, tokens } = stored
    const put = {
      kind: 'put',
      name: stored.name,
      text,
      digest: ofTool,
      tokens,
      onConflict: 'upsert',
    } as const
    return text === stored.text ? [] : [put]
  })
  const isDone = isRevoked ? before?.isRevoked === true : grants.length === 0 || isAccepted
  const isSame = puts.length === 0 && isDone
  const { created } = present
  const result = { grants, grantsDigest: digest, consent: isSame ? before : consent, created, isPending }
  return { result: { ...result, outcome: isSame ? 'unchanged' : 'updated' }, puts }
}

/**
 * Writes a consent or its revocation: the record of the module, and its definitions without or with `pendingGrants`. The module
 * gets no new version, because its content stays.
 */
export function consentWrite(change: ConsentChange, context: WriteContext): LayerWrite<ConsentResult> {
  return {
    module: change.name,
    definitions: (module) => module?.summary?.tools ?? [],
    plan: (found) => {
      const { result, puts } = planConsent(change, found.module?.summary, currentIn(found), context)
      if (result.outcome === 'unchanged' || !found.module) return { result, changes: undefined }
      const planned = puts.map((put): PlannedChange => ({ change: put, outcome: 'updated' }))
      const changes = changesOf(planned, found, context)
      writeDefinitions(planned, found, changes, context)
      changes.write(found.module.kept, withGrants(found.module, result), {
        kind: 'grants',
        granted: grantsText(result),
      })
      return { result, changes }
    },
  }
}

/** The kept name of a module, with the bytes that its record has when it has these grants. */
function withGrants({ kept, summary }: FoundModule, grants: ModuleGrants): FoundModule['kept'] {
  const before = summary && isRecorded(summary) ? Buffer.byteLength(grantsText(summary)) : 0
  return { ...kept, ownBytes: kept.ownBytes - before + Buffer.byteLength(grantsText(grants)) }
}
