import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import type { ListedTool } from '@toolrack/contract'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { CloudWorkflow, Raised } from '../../support/cloud-workflow.ts'
import type { Callable } from '../../support/cloud-workflow.ts'
import { describeOnEmulator, newProject, connectionTo } from '../../support/firestore-emulator.ts'
import { firestoreService } from '../../support/firestore-service.ts'
import type { FirestoreService } from '../../support/firestore-service.ts'
import { expectShown, filledIn, httpExamples } from '../../support/http-example.ts'
import { NOW, signed } from '../../support/signed-tokens.ts'
import { AUDIENCE, deployedAccess, FIREBASE, OIDC } from '../../support/token-kinds.ts'
import { until } from '../../support/until.ts'

jest.setTimeout(60_000)

const PAGE = readFileSync(new URL('../../../docs/workflows.md', import.meta.url), 'utf8')
const DEFINITIONS = fileURLToPath(new URL('../../../functions/workflows/tools/defs', import.meta.url))
const EXAMPLES = httpExamples(PAGE)
const [WORKFLOW = ''] = [...PAGE.matchAll(/^```yaml\n(.*?)\n```$/gms)].map(([, text = '']) => text)

type Sent = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}
type Item = ListedTool & { readonly workflowName: string }

function names(tools: unknown): readonly string[] {
  return (tools as readonly Item[]).map((tool) => tool.function.name)
}

describeOnEmulator('docs/workflows.md', () => {
  let service: FirestoreService
  const values = new Map([
    ['OIDC_TOKEN', signed(OIDC)],
    ['USER_TOKEN', signed(FIREBASE)],
    ['USER_ID', 'ann'],
  ])

  beforeAll(async () => {
    service = await firestoreService(connectionTo(newProject()), {
      access: deployedAccess(() => NOW),
      definitions: DEFINITIONS,
      now: () => NOW,
    })
    const headers = { Authorization: `Bearer ${values.get('OIDC_TOKEN')}`, 'X-User-Id': 'ann' }
    await until(
      () => service.fetch('/jobs/tools/list?strict=1', { headers }),
      ({ ok }) => ok,
    )
  })
  afterAll(async () => service[Symbol.asyncDispose]())

  test('shows these requests', () => {
    expect(EXAMPLES.map(({ request }) => `${request.method} ${request.path.replace(/\?.*/, '')}`)).toEqual([
      'GET /jobs/tools/list',
      'GET /jobs/tools/list',
      'GET /jobs/tools/list',
      'PUT /jobs/tools/defs/POST_INVOICE',
      'GET /jobs/tools/explain',
      'POST /jobs/tools/dispatch',
      'POST /jobs/tools/dispatch/complete',
      'POST /workflows/jobs/tokens',
      'GET /jobs/tools/list',
      'GET /jobs/tools/list',
    ])
  })

  test.each(
    EXAMPLES.map((example, index) => ({
      ...example,
      title: `${index + 1}: ${example.request.method} ${example.request.path}`,
    })),
  )('the request $title is answered as shown', async ({ request, answer }) => {
    const headers = Object.entries(request.headers).map(([name, value]): [string, string] => [
      name,
      filledIn(value, values),
    ])
    const body = request.body === undefined ? undefined : filledIn(request.body, values)
    await expectShown(
      await service.fetch(request.path, { method: request.method, headers, body: body ?? null }),
      answer,
      values,
    )
  })

  /** The workflow of the page as it would run for ann, what it has sent, and what it has had others run. */
  function workflow(url = service.url) {
    const sent: Sent[] = []
    const ran: unknown[] = []
    const told: string[] = []
    const get: Callable = async (args) => {
      const { auth, headers, query, ...rest } = args as Record<string, Record<string, string>> & {
        url: string
      }
      expect([Object.keys(rest).toSorted(), auth]).toEqual([
        ['timeout', 'url'],
        { type: 'OIDC', audience: AUDIENCE },
      ])
      const path = `${rest.url.slice(url.length)}?${new URLSearchParams(query).toString()}`
      const all = { Authorization: `Bearer ${signed(OIDC)}`, ...headers }
      sent.push({ method: 'GET', path, headers: all })
      const answer = await fetch(url + path, { headers: all }).catch(() => undefined)
      if (!answer) throw new Raised({ message: 'connection refused', tags: ['ConnectionError'] })
      const body: unknown = await answer.json()
      if (!answer.ok)
        throw new Raised({ message: 'HTTP error', code: answer.status, tags: ['HttpError'], body })
      return { code: answer.status, body }
    }
    const platform: Record<string, Callable> = {
      'http.get': get,
      'sys.log': async ({ text }) => void told.push(String(text)),
      'googleapis.workflowexecutions.v1.projects.locations.workflows.executions.run': async (args) =>
        ran.push(args),
    }
    const environment = { TOOLRACK_URL: url, TOOLRACK_AUDIENCE: AUDIENCE }
    return { sent, ran, told, of: new CloudWorkflow(parse(WORKFLOW), platform, environment) }
  }

  test('the workflow sends the request that the page shows', async () => {
    const { sent, of } = workflow()
    const tools = await of.run('tool_defs', { user_id: 'ann', names: ',READ_FILE,CREATE_TASK' })
    expect(names(tools)).toEqual(['CREATE_TASK', 'READ_FILE'])
    const [shown] = EXAMPLES
    const headers = Object.fromEntries(
      Object.entries(shown?.request.headers ?? {}).map(([name, value]) => [name, filledIn(value, values)]),
    )
    expect(sent.map((request) => ({ ...request, path: decodeURIComponent(request.path) }))).toEqual([
      { method: shown?.request.method, path: shown?.request.path, headers },
    ])
  })

  test('without names the workflow gets every tool of its user', async () => {
    const listed = names(await workflow().of.run('tool_defs', { user_id: 'ann' }))
    expect(listed).toEqual(expect.arrayContaining(['CREATE_TASK', 'POST_INVOICE', 'READ_FILE']))
    expect(names(await workflow().of.run('tool_defs', { user_id: 'bob' }))).not.toContain('POST_INVOICE')
  })

  test('what the model calls is run by its exact name, and an unknown name is told to the model', async () => {
    const { ran, of } = workflow()
    const call = (name: string) =>
      of.run('main', {
        input: { userId: 'ann', toolCall: { function: { name, arguments: '{"amount":3}' } } },
      })
    await call('POST_INVOICE')
    expect(ran).toEqual([
      {
        workflow_id: 'tools-Invoices',
        argument: { userId: 'ann', name: 'POST_INVOICE', arguments: { amount: 3 } },
      },
    ])
    expect(await call('post_invoice')).toBe('Unsupported tool: post_invoice')
    expect(ran).toHaveLength(1)
  })

  test('when nothing answers, the workflow tries again and goes on with its own list', async () => {
    const { sent, told, of } = workflow('http://127.0.0.1:9')
    expect(names(await of.run('tool_defs', { user_id: 'ann' }))).toEqual(['CREATE_TASK'])
    expect([sent.length, told.length]).toEqual([3, 1])
    expect(names(await of.run('tool_defs', { user_id: 'ann', names: ',CREATE_TASK' }))).toEqual([
      'CREATE_TASK',
    ])
    expect(names(await of.run('tool_defs', { user_id: 'ann', names: 'READ_FILE' }))).toEqual([])
  })

  test('a mistake of the workflow is not hidden by its own list', async () => {
    const { sent, of } = workflow()
    await expect(of.run('tool_defs', { user_id: 'not/a/uid' })).rejects.toMatchObject({ map: { code: 400 } })
    expect(sent).toHaveLength(1)
  })

  test("the workflow's own tools have the names, workflows and required arguments of the service's", async () => {
    const local = (await workflow('http://127.0.0.1:9').of.run('tool_defs', {
      user_id: 'ann',
    })) as readonly Item[]
    const listed = (await workflow().of.run('tool_defs', {
      user_id: 'ann',
      names: names(local).join(),
    })) as readonly Item[]
    const essence = (tools: readonly Item[]) =>
      tools.map(({ type, function: { name, parameters }, workflowName }) => [
        type,
        name,
        parameters.required,
        workflowName,
      ])
    expect(essence(local)).toEqual(essence(listed))
  })
})
