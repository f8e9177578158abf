import { expect, test } from '@jest/globals'
import { findService } from '../../../../functions/src/platform/cloud-run/find-service.ts'
import { GoogleCloud } from '../../../support/google-cloud.ts'

const NAME = { projectId: 'p-1', region: 'europe-west1', service: 'toolrack-runner' }
const PATH = 'projects/p-1/locations/europe-west1/services/toolrack-runner'
const URL = 'https://toolrack-runner-abc-ew.a.run.app'

test("a service is found by Cloud Run's own client, with the access token of the instance", async () => {
  await using google = await GoogleCloud.start()
  google.services.set(PATH, URL)
  expect(await findService(NAME, google.endpoint)).toBe(URL)
  expect(google.lookedUp).toEqual([PATH])
})

test('a service that there is not is gone, and the operator is told what to correct', async () => {
  await using google = await GoogleCloud.start()
  await expect(findService(NAME, google.endpoint)).rejects.toMatchObject({
    isGone: true,
    message: expect.stringMatching(
      /^There is no service RUNNER_SERVICE in the region RUNNER_REGION, or else TOOLRACK_REGION: deploy the runner/,
    ),
  })
})

test('who may not look it up is told which role is missing', async () => {
  await using google = await GoogleCloud.start()
  google.refusal = { code: 403, status: 'PERMISSION_DENIED' }
  await expect(findService(NAME, google.endpoint)).rejects.toMatchObject({
    isGone: false,
    message: expect.stringMatching(/give it roles\/run\.viewer/),
  })
})

test.each(['', 'http://runner.example', 'https://runner.example/path'])(
  'an address that is no root of a service (%j) is not called',
  async (uri) => {
    await using google = await GoogleCloud.start()
    google.services.set(PATH, uri)
    await expect(findService(NAME, google.endpoint)).rejects.toMatchObject({
      isGone: false,
      message: expect.stringMatching(/^Cloud Run did not tell/),
    })
  },
)

test('without a metadata server nobody waits for ever, and the fault is told', async () => {
  await using google = await GoogleCloud.start()
  google.metadata = 'broken'
  await expect(findService(NAME, google.endpoint)).rejects.toMatchObject({
    isGone: false,
    message: expect.stringMatching(/^Cloud Run did not tell/),
  })
}, 60_000)
