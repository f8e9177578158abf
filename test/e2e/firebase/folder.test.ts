import { expect, test } from '@jest/globals'
import { describeWithEmulators, HOSTING, newUser } from '../../support/emulators.ts'

describeWithEmulators('the folder of modules on Cloud Functions', () => {
  test('there is none, and behind Hosting the list says so', async () => {
    const ann = await newUser()
    const answer = await ann.fetch(`${HOSTING}/api/tools`)
    expect([answer.status, await answer.json()]).toEqual([
      200,
      {
        status: 'none',
        reason: expect.stringMatching(/^No folder of modules is watched here/),
        checking: [],
        tools: [],
        skipped: [],
      },
    ])
    expect((await ann.fetch(`${HOSTING}/api/tools/weather:get`)).status).toBe(404)
    expect((await ann.fetch(`${HOSTING}/api/tools/refresh`, { method: 'POST' })).status).toBe(403)
    expect((await fetch(`${HOSTING}/api/tools`)).status).toBe(401)
  })
})
