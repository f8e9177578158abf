import { afterAll, beforeAll, expect, test } from '@jest/globals'
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
import { ScriptedServer } from '../../support/scripted-server.ts'
import { NOW, signed } from '../../support/signed-tokens.ts'
import { AUDIENCE, deployedAccess, FIREBASE, OIDC } from '../../support/token-kinds.ts'
import { until } from '../../support/until.ts'

const PAGE = documentText('how-to/workflow-engine.md')
const MOVING_PAGE = documentText('how-to/move-from-the-original.md')
const DEFINITIONS = fileURLToPath(new URL('../../../functions/workflows/tools/defs', import.meta.url))
const EXAMPLES = httpExamples(PAGE)
const WORKFLOW = documentText('examples/model-turn.yaml')
const INVOKE_WORKFLOW = documentText('examples/call-toolrack.yaml')

/** The value that the page about moving sets for `TOOLRACK_INVOKE_WORKFLOW`. */
const [, INVOKE_WORKFLOW_NAME = ''] =
  /^\| `TOOLRACK_INVOKE_WORKFLOW` \| `([^`]+)` \|/m.exec(MOVING_PAGE) ?? []

function documentText(path: string): string {
  return readFileSync(new URL(`../../../docs/${path}`, import.meta.url), 'utf8')
}

type Sent = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
}
type Item = ListedTool & { readonly workflowName: string }

/** The error of a request without an answer. `ConnectionFailedError` means that it was never sent. */
function connectionError({ cause }: { readonly cause?: { readonly code?: string } }): never {
  const tag = cause?.code === 'ECONNREFUSED' ? 'ConnectionFailedError' : 'ConnectionError'
  throw new Raised({ message: 'no answer', tags: [tag] })
}

function names(tools: unknown): readonly string[] {
  return (tools as readonly Item[]).map((tool) => tool.function.name)
}

describeOnEmulator('docs/how-to/workflow-engine.md', () => {
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
      settings: { TOOLRACK_INVOKE_WORKFLOW: INVOKE_WORKFLOW_NAME },
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

  test('deploys files that exist, with each variable that they read', () => {
    const [, command = ''] = /^```sh\n(gcloud .*?)\n```/ms.exec(PAGE) ?? []
    const [, source = ''] = /--source docs\/(\S+)/.exec(command) ?? []
    expect(documentText(source)).toBe(WORKFLOW)
    expect(PAGE).toContain('](../examples/call-toolrack.yaml)')
    expect(INVOKE_WORKFLOW_NAME).toBe('tools-Toolrack')
    const [, variables = ''] = /--set-env-vars (\S+)/.exec(command) ?? []
    const set = variables.split(',').map((variable) => variable.split('=')[0])
    for (const workflowText of [WORKFLOW, INVOKE_WORKFLOW]) {
      const read = Array.from(workflowText.matchAll(/get_env\("(\w+)"\)/g), ([, name]) => name)
      expect(new Set(read)).toEqual(new Set(set))
    }
  })

  /** The workflow of the page as it would run for ann, what it has sent, and what it has had others run. */
  function workflow(url = service.url, token = signed(OIDC)) {
    const sent: Sent[] = []
    const ran: unknown[] = []
    const told: string[] = []
    const ask =
      (method: string): Callable =>
      async (args) => {
        const { auth, headers, query, body, ...rest } = args as Record<string, Record<string, string>> & {
          url: string
        }
        expect([Object.keys(rest).toSorted(), auth]).toEqual([
          ['timeout', 'url'],
          { type: 'OIDC', audience: AUDIENCE },
        ])
        const path = rest.url.slice(url.length) + (query ? `?${new URLSearchParams(query).toString()}` : '')
        const all = { Authorization: `Bearer ${token}`, ...headers }
        sent.push({ method, path, headers: all })
        const init = body && { body: JSON.stringify(body) }
        const answer = await fetch(url + path, { method, headers: all, ...init }).catch(connectionError)
        const text = await answer.text()
        const isJson = answer.headers.get('content-type')?.startsWith('application/json')
        const read: unknown = isJson ? JSON.parse(text) : text
        const { status: code } = answer
        if (!answer.ok) throw new Raised({ message: 'HTTP error', code, tags: ['HttpError'], body: read })
        return { code, body: read }
      }
    const environment = { TOOLRACK_URL: url, TOOLRACK_AUDIENCE: AUDIENCE }
    const platform: Record<string, Callable> = {
      'http.get': ask('GET'),
      'http.post': ask('POST'),
      'sys.log': async ({ text }) => void told.push(String(text)),
      'googleapis.workflowexecutions.v1.projects.locations.workflows.executions.run': async (args) => {
        ran.push(args)
        const { workflow_id: name, argument: input } = args
        return name === INVOKE_WORKFLOW_NAME ? invoke.run('main', { input }) : { encoded: 'done', cost: 0 }
      },
    }
    const invoke = new CloudWorkflow(parse(INVOKE_WORKFLOW), platform, environment)
    return { sent, ran, told, invoke, of: new CloudWorkflow(parse(WORKFLOW), platform, environment) }
  }

  /** What the workflow that calls the service answers to the original dispatcher. */
  async function invoked(name: string, args: string, at = workflow()): Promise<unknown> {
    const tool_call = { id: 'c1', type: 'function', function: { name, arguments: args } }
    return at.invoke.run('main', { input: { tool_call, cost: 0.5, env: { userId: 'ann', model: 'm' } } })
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
    expect(await call('POST_INVOICE')).toBe('done')
    expect(ran).toEqual([
      {
        workflow_id: 'tools-Invoices',
        argument: {
          tool_call: { function: { name: 'POST_INVOICE', arguments: '{"amount":3}' } },
          cost: 0,
          env: { userId: 'ann' },
        },
      },
    ])
    expect(await call('post_invoice')).toBe('Unsupported tool: post_invoice')
    expect(ran).toHaveLength(1)
  })

  test('a workflow that only a user has named is not started', async () => {
    const sent = JSON.parse(EXAMPLES[3]?.request.body ?? '') as object
    const path = '/jobs/tools/defs/POST_INVOICE?layer=user'
    const headers = { Authorization: `Bearer ${values.get('OIDC_TOKEN')}`, 'X-User-Id': 'eve' }
    const runner = { kind: 'workflow', workflowName: 'payroll' }
    const body = JSON.stringify({ ...sent, runner })
    expect((await service.fetch(path, { method: 'PUT', headers, body })).status).toBe(201)
    const { ran, of } = workflow()
    const input = { userId: 'eve', toolCall: { function: { name: 'POST_INVOICE', arguments: '{}' } } }
    expect(await of.run('main', { input })).toBe('Unsupported tool: POST_INVOICE')
    expect(ran).toEqual([])
  })

  test('a tool that the service runs is called by the workflow that its item names', async () => {
    const { ran, sent, of } = workflow()
    const toolCall = { function: { name: 'ECHO', arguments: '{"text":"Can you hear me?"}' } }
    const input = { userId: 'ann', toolNames: 'ECHO,READ_FILE', toolCall }
    expect(await of.run('main', { input })).toBe('Can you hear me?')
    expect(ran).toMatchObject([{ workflow_id: INVOKE_WORKFLOW_NAME }])
    expect(sent.map(({ method, path }) => `${method} ${path.replace(/\?.*/, '')}`)).toEqual([
      'GET /jobs/tools/list',
      'POST /jobs/tools/invoke',
    ])
  })

  test.each([
    ['a result', 'ECHO', '{"text":"Yes."}', 'Yes.'],
    ['wrong arguments', 'ECHO', '{"txet":"Yes."}', expect.stringContaining("'text' is missing")],
    [
      'arguments that are not JSON',
      'ECHO',
      '{"text":',
      'The arguments must be a JSON object: a name and a value for each.',
    ],
    ['an unknown name', 'ECH0', '{}', "Unsupported tool: ECH0. Did you mean 'ECHO'?"],
    ["a tool of the user's machine", 'READ_FILE', '{"path":"a"}', expect.stringContaining('READ_FILE')],
  ])(
    'the workflow that calls the service answers %s as a text for the model',
    async (_what, name, args, encoded) => {
      expect(await invoked(name, args)).toEqual({ encoded, cost: 0 })
    },
  )

  test('a lost call is not sent again, and the model learns whether it has run', async () => {
    const notRun = { encoded: 'The tools service cannot be reached. ECHO was not run.', cost: 0 }
    const closed = await ScriptedServer.start()
    const { origin } = closed
    await closed[Symbol.asyncDispose]()
    expect(await invoked('ECHO', '{"text":"a"}', workflow(origin))).toEqual(notRun)
    await using proxy = await ScriptedServer.start()
    proxy.answers = [
      (req) => req.socket.destroy(),
      (_req, res) => res.writeHead(502, { 'Content-Type': 'text/html' }).end('<h1>Bad gateway</h1>'),
    ]
    const lost = {
      encoded: expect.stringMatching(/^The tools service did not answer\. .* ECHO has run\.$/),
      cost: 0,
    }
    for (let count = 1; count <= 2; count += 1) {
      expect(await invoked('ECHO', '{"text":"a"}', workflow(proxy.origin))).toEqual(lost)
      expect(proxy.asked).toHaveLength(count)
    }
  })

  test('a fault that only the operator can correct ends the workflow that calls the service', async () => {
    const other = signed(OIDC, { aud: 'https://elsewhere.example' })
    await expect(invoked('ECHO', '{"text":"a"}', workflow(service.url, other))).rejects.toMatchObject({
      map: { code: 401 },
    })
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
