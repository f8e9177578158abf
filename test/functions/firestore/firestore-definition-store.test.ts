import { afterAll, beforeAll, jest } from '@jest/globals'
import { Firestore } from '@google-cloud/firestore'
import { randomUUID } from 'node:crypto'
import { FirestoreDefinitionStore } from '../../../functions/src/firestore/firestore-definition-store.ts'
import { SchemaChecker } from '../../../functions/src/schemas/schema-checker.ts'
import { describeDefinitionStore } from '../../support/definition-store.contract.ts'

jest.setTimeout(60_000)

let checker: SchemaChecker
beforeAll(() => {
  checker = new SchemaChecker()
})
afterAll(() => checker.close())

describeDefinitionStore('the Firestore store on the emulator', () => {
  const projectId = `demo-${randomUUID()}`
  return Promise.resolve({
    open: () =>
      Promise.resolve(
        new FirestoreDefinitionStore({ checker, connect: () => Promise.resolve(new Firestore({ projectId })) }),
      ),
    dispose: () => Promise.resolve(),
  })
})
