import type { DefinitionStore } from '../../catalog/definitions/definition-store.ts'
import { ArgumentValidator } from '../../catalog/schemas/argument-validator.ts'
import { SchemaCompilers } from '../../catalog/schemas/schema-compilers.ts'
import type { Log } from '../../log.ts'

type Needs = {
  readonly log: Log
  readonly openStore: (compilers: SchemaCompilers) => DefinitionStore
}

/**
 * The compilers of schemas, the validator of arguments, and the store of definitions. The store needs a compiler for schemas that
 * other programs have written.
 */
export const schemas = {
  name: 'schemas',
  create({ log, openStore }: Needs) {
    const compilers = new SchemaCompilers({ log })
    return { compilers, store: openStore(compilers), argumentValidator: new ArgumentValidator({ log }) }
  },
}
