import type { Documents } from '../../documents/documents.ts'
import { loadSecrets, secretsFor, type SecretsFor } from './load-secrets.ts'
import { rotateSecrets, type Rotation } from './rotate-secrets.ts'
import type { SecretKeys } from './secret-keys.ts'
import { secretRoutes } from './secret-routes.ts'
import { SecretStore } from './secret-store.ts'

type Needs = {
  readonly documents: Documents
  /** `secretKeys` seal the secrets. Without them, no secrets are kept. */
  readonly governance: { readonly secretKeys?: SecretKeys | undefined }
  readonly now: () => number
}

/** The secrets of users and of everybody, which tools get that name them. */
export const secrets = {
  name: 'secrets',
  create({ documents, governance: { secretKeys: keys }, now }: Needs) {
    const secretStore = keys && new SecretStore({ documents, keys, now })
    let rotating: Promise<Rotation> | undefined
    // Two rotations at once would be in each other's way, so a second request gets the answer of the first.
    function rotate(parts: Parameters<typeof rotateSecrets>[0]): Promise<Rotation> {
      return (rotating ??= rotateSecrets(parts).finally(() => (rotating = undefined)))
    }
    return {
      secretStore,
      secretsFor: secretsFor({ store: secretStore }),
      rotateKeys: keys && secretStore && (() => rotate({ keys, store: secretStore })),
    }
  },
  steps: ({ secretsFor: load }: { readonly secretsFor: SecretsFor }) => ({
    'load the secrets': loadSecrets(load),
  }),
  routes: secretRoutes,
}
