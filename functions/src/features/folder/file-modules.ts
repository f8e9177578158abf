import { hash } from 'node:crypto'
import { isPackageLock, lockText, type PackageLock } from '../../catalog/definitions/package-lock.ts'
import { EVERYBODY, keyOf, put, type Collection, type Ref } from '../../documents/collection.ts'
import type { Documents } from '../../documents/documents.ts'
import { isText, object } from '../../value-shape.ts'

/** The lock of a module of a watched folder. It is kept, because the packages must not change with a restart. */
type KeptLock = {
  /** The digest of the content that has the lock. */
  readonly sha256: string
  readonly lock: PackageLock
}

/** Names a module: the path of its folder, and its main file in it, such as `weather/__init__.py`. */
export type FilePlace = { readonly folder: string; readonly file: string }

const LOCKS: Collection<KeptLock> = {
  name: 'file-modules',
  owner: 'everybody',
  fields: object<KeptLock>({ sha256: isText, lock: isPackageLock }),
}

/** The document of a module. Two folders may have files of the same name, so the key names the folder too. */
function refTo({ folder, file }: FilePlace): Ref<KeptLock> {
  return { of: LOCKS, key: keyOf({ kind: hash('sha256', folder).slice(0, 16), id: file }) }
}

/** Keeps the locks of the modules in watched folders. */
export class FileModules {
  readonly #documents: Documents

  constructor(documents: Documents) {
    this.#documents = documents
  }

  /** The lock of the module, if it was kept for this content. Rejects with the errors of `Documents`. */
  async lock(place: FilePlace, sha256: string): Promise<PackageLock | undefined> {
    const [kept] = await this.#documents.read(EVERYBODY, [refTo(place)])
    return kept?.fields.sha256 === sha256 ? kept.fields.lock : undefined
  }

  /** Keeps the lock of this content. Writes nothing if it is kept already. Rejects with the errors of `Documents`. */
  async keep(place: FilePlace, sha256: string, lock: PackageLock): Promise<void> {
    const to = refTo(place)
    await this.#documents.change(EVERYBODY, [to], ([kept]) => {
      const { fields } = kept ?? {}
      const isKept = fields?.sha256 === sha256 && lockText(fields.lock) === lockText(lock)
      return { result: undefined, ...(!isKept && { writes: [put(to, { sha256, lock })] }) }
    })
  }
}
