import { isJsonObject } from '@toolrack/contract'
import { hash } from 'node:crypto'
import type { ModuleConsent } from '../../catalog/definitions/module-store.ts'
import { isPackageLock, lockText, type PackageLock } from '../../catalog/definitions/package-lock.ts'
import { EVERYBODY, keyOf, put, type Collection, type Ref } from '../../documents/collection.ts'
import type { Documents } from '../../documents/documents.ts'
import { either, isNull, isText, object, type Test } from '../../value-shape.ts'

/** What is kept of a module of a watched folder, because it must not change with a restart. */
export type FileModule = {
  /** The digest of the content that has the lock. */
  readonly sha256: string
  readonly lock: PackageLock | null
  /** The consent to the module's grants. It stays when the content changes, because it counts for a digest of grants. */
  readonly consent: ModuleConsent | null
}

/** Names a module: the path of its folder, and its main file in it, such as `weather/__init__.py`. */
export type FilePlace = { readonly folder: string; readonly file: string }

const FILE_MODULES: Collection<FileModule> = {
  name: 'file-modules',
  owner: 'everybody',
  fields: object<FileModule>({
    sha256: isText,
    lock: either(isPackageLock, isNull),
    consent: either(isJsonObject as Test<ModuleConsent>, isNull),
  }),
}

/** The document of a module. Two folders may have files of the same name, so the key names the folder too. */
export function fileModuleRef({ folder, file }: FilePlace): Ref<FileModule> {
  return { of: FILE_MODULES, key: keyOf({ kind: hash('sha256', folder).slice(0, 16), id: file }) }
}

/** Keeps the locks of the modules in watched folders. */
export class FileModules {
  readonly #documents: Documents

  constructor(documents: Documents) {
    this.#documents = documents
  }

  /** What is kept of a module. Rejects with the errors of `Documents`. */
  async read(place: FilePlace): Promise<FileModule | undefined> {
    const [kept] = await this.#documents.read(EVERYBODY, [fileModuleRef(place)])
    return kept?.fields
  }

  /** The lock of the module, if it was kept for this content. Rejects with the errors of `Documents`. */
  async lock(place: FilePlace, sha256: string): Promise<PackageLock | undefined> {
    const kept = await this.read(place)
    return kept?.sha256 === sha256 ? (kept.lock ?? undefined) : undefined
  }

  /** Keeps the lock of this content. Writes nothing if it is kept already. Rejects with the errors of `Documents`. */
  async keep(place: FilePlace, sha256: string, lock: PackageLock): Promise<void> {
    const to = fileModuleRef(place)
    await this.#documents.change(EVERYBODY, [to], ([kept]) => {
      const { fields } = kept ?? {}
      const isKept = fields?.sha256 === sha256 && fields.lock && lockText(fields.lock) === lockText(lock)
      if (isKept) return { result: undefined }
      return { result: undefined, writes: [put(to, { sha256, lock, consent: fields?.consent ?? null })] }
    })
  }
}
