import { afterAll, beforeAll, jest } from '@jest/globals'
import { FirestoreDefinitionStore } from '../../../functions/src/firestore/firestore-definition-store.ts'
import { SchemaChecker } from '../../../functions/src/schemas/schema-checker.ts'
import { describeDefinitionStore } from '../../support/definition-store.contract.ts'
import { describeOnEmulator, newProject, openFirestore } from '../../support/firestore-emulator.ts'

jest.setTimeout(60_000)

describeOnEmulator('the contract of stores', () => {
  let checker: SchemaChecker
  beforeAll(() => {
    checker = new SchemaChecker()
  })
  afterAll(() => checker.close())

  describeDefinitionStore('the Firestore store', () => {
    const projectId = newProject()
    const connect = () => Promise.resolve(openFirestore(projectId))
    return Promise.resolve({
      open: () => Promise.resolve(new FirestoreDefinitionStore({ checker, connect })),
      dispose: () => Promise.resolve(),
    })
  })
})
