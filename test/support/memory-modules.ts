import type { Consent } from '../../functions/src/catalog/definitions/decide-consent.ts'
import { VERSIONS_KEPT } from '../../functions/src/catalog/definitions/definition-store.ts'
import type { WriteContext } from '../../functions/src/catalog/definitions/definition-change.ts'
import {
  contentOf,
  keptText,
  type ModuleContent,
} from '../../functions/src/catalog/definitions/module-content.ts'
import type {
  ModuleChange,
  ModuleGrants,
  ModulePage,
  ModulePut,
  ModuleSummary,
  ModuleVersion,
  StoredModule,
} from '../../functions/src/catalog/definitions/module-store.ts'

import type { Digest } from '@toolrack/contract'
import { lockText, type PackageLock } from '../../functions/src/catalog/definitions/package-lock.ts'
import { grantsText, revocationText } from '../../functions/src/catalog/definitions/stored-records.ts'
import { moduleBytes, recordBytes } from '../../functions/src/catalog/definitions/layer-totals.ts'
import type { ContentBytes } from '../../functions/src/catalog/definitions/layer-totals.ts'
import type { MemoryNames } from './memory-room.ts'

type Kept = ModuleVersion & { readonly module?: ModuleContent; readonly lock?: PackageLock }

/** The modules of one layer of the in-memory store. */
export class MemoryModules {
  readonly #modules = new Map<string, StoredModule>()
  readonly #versions = new Map<string, readonly Kept[]>()
  /** The revocations of deleted modules. */
  readonly #revocations = new Map<string, Consent>()

  module(name: string): StoredModule | undefined {
    return this.#modules.get(name)
  }

  revocation(name: string): Consent | undefined {
    return this.#revocations.get(name)
  }

  list({ after = '', limit }: ModulePage): readonly ModuleSummary[] {
    return [...this.#modules.values()]
      .filter(({ name }) => name > after)
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .slice(0, limit)
      .map(({ report: _report, ...summary }) => summary)
  }

  versions(name: string): readonly ModuleVersion[] {
    return (this.#versions.get(name) ?? []).map(({ module: _module, lock: _lock, ...version }) => version)
  }

  source(sha256: string): ModuleContent | undefined {
    return [...this.#versions.values()].flat().find((version) => version.sha256 === sha256)?.module
  }

  lock(sha256: string, environment: Digest): PackageLock | undefined {
    const versions = [...this.#versions.values()].flat()
    return versions.find((version) => version.sha256 === sha256 && version.environment === environment)?.lock
  }

  /** The stored modules and versions, for the size limits of their layer. */
  names(): MemoryNames {
    return {
      present: [
        ...[...this.#modules.keys()].map((name) => ({ name, bytes: this.#bytesOf(name).own })),
        ...[...this.#revocations].map(([name, consent]) => ({
          name,
          bytes: recordBytes(revocationText(consent)),
        })),
      ],
      versions: [...this.#versions].flatMap(([name, versions]) =>
        versions.map(({ revision, module, lock, tools }) => {
          const ofLock = lock ? lockText(lock) : null
          const bytes = module ? recordBytes(keptText(module), JSON.stringify(tools), ofLock) : recordBytes()
          return { name, revision: Number(revision.slice(1)), bytes }
        }),
      ),
      forget: ({ name, revision }) => {
        const left = (this.#versions.get(name) ?? []).filter((version) => version.revision !== `m${revision}`)
        if (left.length > 0) this.#versions.set(name, left)
        else this.#versions.delete(name)
      },
    }
  }

  /** The bytes of a module's present state. The module must exist. */
  presentBytes(name: string): number {
    const { own, version } = this.#bytesOf(name)
    return own + version
  }

  #bytesOf(name: string): ContentBytes {
    const [newest] = this.#versions.get(name) ?? []
    const { report, tools = [], ...module } = this.#modules.get(name) ?? {}
    return moduleBytes({
      kept: newest?.module ? keptText(newest.module) : '',
      lock: newest?.lock ? lockText(newest.lock) : null,
      report: JSON.stringify(report),
      granted: grantsText(module as ModuleGrants),
      tools,
    })
  }

  setGrants(name: string, { grants, grantsDigest, consent, created }: ModuleGrants): void {
    const module = this.#modules.get(name)
    if (module) this.#modules.set(name, { ...module, grants, grantsDigest, consent, created })
  }

  write(change: ModuleChange, revision: string, { by, at }: WriteContext): void {
    const { name } = change
    const when = at.toISOString()
    const content =
      change.kind === 'put' ? { sha256: change.sha256, ...locked(change), module: contentOf(change) } : {}
    const tools = change.kind === 'put' ? change.tools.map((tool) => tool.name) : []
    const versions = [{ revision, ...content, tools, at: when, by }, ...(this.#versions.get(name) ?? [])]
    this.#versions.set(name, versions.slice(0, VERSIONS_KEPT))
    const { consent } = this.#modules.get(name) ?? {}
    this.#revocations.delete(name)
    if (change.kind === 'delete') {
      this.#modules.delete(name)
      if (consent?.isRevoked) this.#revocations.set(name, consent)
    } else {
      const { sha256, report, grants, grantsDigest, consent, created } = change
      const { environment } = locked(change)
      const written = { revision, updatedAt: when, updatedBy: by, grants, grantsDigest, consent, created }
      this.#modules.set(name, {
        name,
        sha256,
        ...(environment && { environment }),
        tools,
        report,
        ...written,
      })
    }
  }
}

function locked({ lock }: ModulePut): { environment?: Digest; lock?: PackageLock } {
  return lock ? { environment: lock.digest, lock } : {}
}
