import { describe } from '@jest/globals'
import { existsSync, readdirSync } from 'node:fs'
import { ROOT } from './source-tree.ts'
import type { TwoDocuments } from './two-stores.ts'

type StoreContract = (open: () => TwoDocuments) => void

const FEATURES = new URL('test/functions/features/', ROOT)

/** The file `store.contract.ts` of each feature that has one, by the name of the feature. */
const CONTRACTS = await Promise.all(
  readdirSync(FEATURES)
    .map((name) => [name, new URL(`${name}/store.contract.ts`, FEATURES)] as const)
    .filter(([, file]) => existsSync(file))
    .map(async ([name, { href }]) => {
      const { storeContract } = (await import(href)) as { readonly storeContract: StoreContract }
      return [name, storeContract] as const
    }),
)

/** What each feature that keeps something guarantees over every adapter of the documents. */
export function featureStoresContract(open: () => TwoDocuments): void {
  describe.each(CONTRACTS)('%s', (_name, contract) => contract(open))
}
