import { expect, test } from '@jest/globals'
import { grantsDigest, type Grant } from '@toolrack/contract'
import {
  decideConsent,
  type GrantPolicy,
  type PresentGrants,
} from '../../../../functions/src/catalog/definitions/decide-consent.ts'
import { planConsent } from '../../../../functions/src/catalog/definitions/consent-write.ts'
import type { ModuleSummary } from '../../../../functions/src/catalog/definitions/module-store.ts'
import { withoutPending, withPending } from '../../../../functions/src/catalog/definitions/pending-text.ts'
import { presentGrants } from '../../../../functions/src/catalog/definitions/present-grants.ts'
import { by, put } from '../../../support/definition-changes.ts'
import { moduleTool } from '../../../support/module-changes.ts'

const AT = new Date('2026-01-02T03:04:05.678Z')
const host = (value: string): Grant => ({ kind: 'network', value })
const PANDAS: Grant = { kind: 'packages', value: 'pandas' }
const KEY: Grant = { kind: 'secrets', value: 'KEY' }

function decided(grants: readonly Grant[], present?: PresentGrants, policy: GrantPolicy = 'ask') {
  return decideConsent({ grants, grantsDigest: grantsDigest(grants), by: 'ann', at: AT }, present, policy)
}

/** A version of a module that was written before grants were recorded. */
const unrecorded = (...grants: readonly Grant[]): PresentGrants => ({
  grants,
  grantsDigest: grantsDigest(grants),
  consent: null,
  isUnrecorded: true,
})

test.each<readonly [string, readonly Grant[], boolean]>([
  ['the same hosts', [host('a'), host('b')], false],
  ['some of the hosts', [host('b')], false],
  ['another host', [host('a'), host('c')], true],
  ['a host and a package', [host('a'), PANDAS], true],
  ['the secret that it named without effect', [host('a'), KEY], true],
  ['nothing', [], false],
])('after an upgrade, a version that asks for %s waits or not', (_what, grants, isPending) => {
  const decision = decided(grants, unrecorded(host('a'), host('b'), KEY))
  expect(decision.isPending).toBe(isPending)
  if (!isPending && grants.length > 0) expect(decision.consent?.digest).toBe(grantsDigest(grants))
})

test('after an upgrade, packages beside the hosts of before need no consent where the operator accepts packages', () => {
  expect(decided([host('a'), PANDAS], unrecorded(host('a')), 'packages').isPending).toBe(false)
  expect(decided([host('c'), PANDAS], unrecorded(host('a')), 'packages').isPending).toBe(true)
})

test('a consent to grants of an earlier version stays, and counts for these grants alone', () => {
  const first = [host('a')]
  const consent = { digest: grantsDigest(first), by: 'eve', at: AT.toISOString() }
  const second = [host('b')]
  const present = { grants: second, grantsDigest: grantsDigest(second), consent }
  expect(decided(first, present)).toEqual({ consent, isPending: false })
  expect(decided(second, present)).toEqual({ consent, isPending: true })
  // The accepted host is not one of the present version, so it says nothing about packages beside it.
  expect(decided([host('b'), PANDAS], present, 'packages').isPending).toBe(true)
})

test('after a revocation the setting of the operator accepts nothing, until a person accepts', () => {
  const grants = [PANDAS]
  const digest = grantsDigest(grants)
  const consent = { digest, by: 'eve', at: AT.toISOString(), isRevoked: true }
  const present = { grants, grantsDigest: digest, consent }
  for (const policy of ['ask', 'packages', 'accept'] as const)
    for (const asked of [grants, [PANDAS, KEY]])
      expect(decided(asked, present, policy)).toEqual({ consent, isPending: true })
  expect(decided([], present, 'accept')).toEqual({ consent, isPending: false })
  const asked = { grants, grantsDigest: digest, accepts: digest, by: 'ann', at: AT }
  expect(decideConsent(asked, present, 'ask').isPending).toBe(false)
})

const MODULE: ModuleSummary = {
  name: 'm',
  sha256: 'x',
  tools: ['m:a'],
  revision: '1-a',
  updatedAt: AT.toISOString(),
  updatedBy: 'ann',
}

test('the grants of a record of before are those of its definitions, and can be revoked', () => {
  const tool = moduleTool('m', 'a', 'text')
  const definition = {
    ...tool,
    runner: { ...tool.runner, kind: 'python' as const, module: 'm', network: ['a'] },
  }
  const stored = { ...put(definition), revision: '1-a' }
  const current = new Map([['m:a', stored]])
  const digest = grantsDigest([host('a')])
  expect(presentGrants('m', MODULE, current)).toMatchObject({ grants: [host('a')], isUnrecorded: true })
  const { result, puts } = planConsent({ name: 'm', accepts: undefined }, MODULE, current, by('ann'))
  expect(result).toMatchObject({
    isPending: true,
    grantsDigest: digest,
    consent: { digest, isRevoked: true },
    outcome: 'updated',
  })
  expect(puts.map(({ text }) => text)).toEqual([withPending(stored.text, digest)])
})

test('the mark in a stored definition can be put and taken away, and nothing else is taken for it', () => {
  const digest = grantsDigest([])
  const text = `{"type":"function","function":{"name":"a","description":"{\\"pendingGrants\\":\\"${digest}\\",","parameters":{}}}`
  const marked = withPending(text, digest)
  expect(JSON.parse(marked)).toEqual({ ...(JSON.parse(text) as object), pendingGrants: digest })
  expect(withPending(marked, digest)).toBe(marked)
  expect([withoutPending(marked), withoutPending(text), withPending(marked, undefined)]).toEqual([
    text,
    text,
    text,
  ])
})
