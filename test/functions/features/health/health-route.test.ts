import { expect, test } from '@jest/globals'
import type { Runner } from '../../../../functions/src/catalog/definitions/runner.ts'
import { VERSION } from '../../../../functions/src/version.ts'
import { tool } from '../../../support/definition-changes.ts'
import { inProcess } from '../../../support/in-process.ts'
import { readingRunner } from '../../../support/reading-runner.ts'
import { routeService } from '../../../support/route-service.ts'
import { deployedAccess } from '../../../support/token-kinds.ts'

function runnerWith(health: Awaited<ReturnType<Runner['health']>>): Runner {
  return { ...readingRunner(), health: () => Promise.resolve(health) }
}

const ask = await routeService([tool('shared')], {
  runner: runnerWith({ status: 'ready', isolation: 'L3', slots: 8 }),
})
const away = await routeService([], { runner: runnerWith({ status: 'unreachable', reason: 'Gone.' }) })
const lost = await routeService([], { files: () => ({ read: () => Promise.reject(new Error('lost')) }) })

test('without a valid token the health is the status, the version and the isolation', async () => {
  const { status, body } = await ask('nobody', 'GET /health')
  expect(status).toBe(200)
  expect(body).toEqual({ status: 'ok', version: VERSION, isolation: 'L3' })
})

test('with a token the health has the layers, the queues and the runner too', async () => {
  const { status, body } = await ask('ann', 'GET /health')
  expect(status).toBe(200)
  expect(body).toMatchObject({
    status: 'ok',
    revision: expect.any(String),
    layers: {
      user: { definitions: 0 },
      global: { definitions: 0 },
      file: { status: 'fresh', definitions: 1 },
    },
    queues: { schemas: {}, arguments: {}, bodies: {}, answers: {} },
    runner: { status: 'ready', isolation: 'L3', slots: 8 },
  })
})

test('an admin also sees whether the statistics are written; users do not', async () => {
  expect((await ask('admin', 'GET /health')).body).toMatchObject({
    statistics: { waiting: expect.any(Number), failingSince: null },
    delays: expect.any(Array),
  })
  expect((await ask('ann', 'GET /health')).body).not.toHaveProperty('statistics')
})

test('a parameter and a job are no hindrance to a health check', async () => {
  expect(await ask('nobody', 'GET /health?a=1')).toMatchObject({ status: 200 })
  expect(await ask('token', 'GET /health')).toMatchObject({ status: 200 })
})

test('the health knows GET alone', async () => {
  expect(await ask('ann', 'POST /health')).toMatchObject({ status: 405, code: 'METHOD_NOT_ALLOWED' })
})

test('a runner that cannot be reached, and a shared layer that is lost, degrade the service', async () => {
  expect((await away('ann', 'GET /health')).body).toMatchObject({ status: 'degraded', isolation: 'L0' })
  expect((await lost('nobody', 'GET /health')).body).toMatchObject({ status: 'degraded' })
})

test('where a layer is lost, the front page says that the service works only in part, and not what is lost', async () => {
  await using service = await inProcess(deployedAccess(Date.now), [], Date.now, {
    files: () => ({ read: () => Promise.reject(new Error('The folder /home/ann/definitions is lost.')) }),
  })
  for (const accept of ['*/*', 'text/html']) {
    const shown = await (await fetch(`${service.url}/`, { headers: { Accept: accept } })).text()
    expect(shown).toContain('It works only in part. GET /health with a token says what is missing.')
    expect(shown).not.toContain('It works.')
    expect(shown).not.toContain('definitions is lost')
  }
})
