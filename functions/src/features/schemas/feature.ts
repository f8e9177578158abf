import type { DefinitionStore } from '../../catalog/definitions/definition-store.ts'
import { ArgumentValidator } from '../../catalog/schemas/argument-validator.ts'
import { SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'
import type { Log } from '../../log.ts'

type Needs = {
  readonly log: Log
  readonly openStore: (compilers: SchemaCompilers) => DefinitionStore
}

/** What compiles the schemas of definitions, what checks arguments by them, and the store, which compiles what others have written. */
export const schemas = {
  name: 'schemas',
  create({ log, openStore }: Needs) {
    const compilers = new SchemaCompilers({ log })
    return { compilers, store: openStore(compilers), argumentValidator: new ArgumentValidator({ log }) }
  },
}
