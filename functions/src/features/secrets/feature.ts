import type { DefinitionStore } from '../../catalog/definitions/definition-store.ts'
import type { Documents } from '../../documents/documents.ts'
import { loadSecrets, secretsFor, type SecretsFor } from './load-secrets.ts'
import { rotateSecrets, type Rotation } from './rotate-secrets.ts'
import type { SecretKeys } from './secret-keys.ts'
import { secretRoutes } from './secret-routes.ts'
import { SecretStore } from './secret-store.ts'

type Needs = {
  readonly documents: Documents
  readonly store: DefinitionStore
  /** `secretKeys` seal the secrets. Without them, no secrets are kept. */
  readonly governance: { readonly secretKeys?: SecretKeys | undefined }
  readonly now: () => number
}

/** The secrets of users and of everybody, which tools get that name them. */
export const secrets = {
  name: 'secrets',
  create({ documents, store: modules, governance: { secretKeys: keys }, now }: Needs) {
    const secretStore = keys && new SecretStore({ documents, keys, now, modules })
    let rotating: Promise<Rotation> | undefined
    // Two rotations at once would be in each other's way, so a second request gets the answer of the first.
    const rotateKeys =
      secretStore &&
      (() => (rotating ??= rotateSecrets({ keys, store: secretStore }).finally(() => (rotating = undefined))))
    return { secretStore, secretsFor: secretsFor({ store: secretStore }), rotateKeys }
  },
  steps: ({ secretsFor: load }: { readonly secretsFor: SecretsFor }) => ({
    'load the secrets': loadSecrets(load),
  }),
  routes: secretRoutes,
}
