import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { connectionTo, describeOnEmulator, newProject } from '../../../support/firestore-emulator.ts'
import { firestoreService } from '../../../support/firestore-service.ts'
import type { FirestoreService } from '../../../support/firestore-service.ts'
import { answersTo, NO_TOOL_NAMES } from '../../../support/no-tool-names.ts'
import { until } from '../../../support/until.ts'

describeOnEmulator('names that no definition can have, over Firestore', () => {
  let service: FirestoreService
  beforeAll(async () => {
    service = await firestoreService(connectionTo(newProject()))
    // A cold emulator may take longer for its first answers than a read waits.
    await until(
      () => service.fetch('/workflows/tools/list?strict=1'),
      ({ status }) => status === 200,
    )
  })
  afterAll(async () => service[Symbol.asyncDispose]())

  test.each(NO_TOOL_NAMES)(
    '%j is a 404 for every route of a definition, and no store fails at it',
    async (name) => {
      for (const answer of await answersTo(name, service.fetch))
        expect(answer).toMatchObject({ httpStatus: 404, reason: 'TOOL_NOT_FOUND' })
      expect(service.logged.filter((line) => !line.startsWith('layer '))).toEqual([])
    },
  )
})
