import { expect, test } from '@jest/globals'
import {
  describeWithEmulators,
  functionUrl,
  HOSTING,
  newAdmin,
  newName,
  newUser,
} from '../../support/emulators.ts'
import type { Person } from '../../support/emulators.ts'
import { until } from '../../support/until.ts'

describeWithEmulators('layers behind Hosting', () => {
  test('a user lists, defines and lists again, and a second user does not see it', async () => {
    const [ann, bob, name] = [await newUser(), await newUser(), newName()]
    expect(await names(ann)).toContain('READ_FILE')
    expect(await names(ann)).not.toContain(name)

    const defined = await define(ann, name, 'of Ann')
    expect(defined.status).toBe(201)
    expect(await defined.json()).toMatchObject({ name, layer: 'user', outcome: 'created' })

    await sees(ann, name, 'of Ann')
    expect(await descriptions(bob, name)).toEqual([])
    const missing = await bob.fetch(`${HOSTING}/workflows/tools/defs/${name}`)
    expect(missing.status).toBe(404)
  })

  test('what an admin defines globally everybody sees, and a user who is none is refused', async () => {
    const [ann, bob, root, name] = [await newUser(), await newUser(), await newAdmin(), newName()]
    const refused = await define(ann, name, 'of Ann', '?layer=global')
    expect([refused.status, await reason(refused)]).toEqual([403, 'PERMISSION_DENIED'])

    expect((await define(root, name, 'for all', '?layer=global')).status).toBe(201)
    await sees(ann, name, 'for all')
    await sees(bob, name, 'for all')

    expect((await define(ann, name, 'of Ann')).status).toBe(201)
    await sees(ann, name, 'of Ann')
    await sees(bob, name, 'for all')
  })

  test('a job token lists exactly its tools on the other function, and opens no door for users', async () => {
    const [ann, name] = [await newUser(), newName()]
    const { digest } = (await (await define(ann, name, 'of Ann')).json()) as { digest: string }
    const file = await ann.fetch(`${HOSTING}/workflows/tools/defs/READ_FILE?layer=file`)
    const shipped = (await file.json()) as { digest: string }
    const body = JSON.stringify({
      workflowId: 'nightly',
      tools: [
        { name, digest },
        { name: 'READ_FILE', digest: shipped.digest },
      ],
    })
    // Another instance sees the definition a moment later.
    const minted = await until(
      () => ann.fetch(`${HOSTING}/workflows/jobs/tokens`, { method: 'POST', body }),
      ({ ok }) => ok,
    )
    expect(minted.status).toBe(201)
    const { token } = (await minted.json()) as { token: string }
    const headers = { Authorization: `Bearer ${token}` }

    // The jobs function is another process, which looks at the layers' revisions for itself.
    const listed = await until(
      async () => (await fetch(`${HOSTING}/jobs/tools/list`, { headers })).json() as Promise<Tool[]>,
      (tools) => tools.length === 2,
    )
    expect(listed.map((tool) => tool.function.name).toSorted()).toEqual([name, 'READ_FILE'].toSorted())
    const direct = await fetch(`${functionUrl('jobs')}/tools/list`, { headers })
    expect(await direct.json()).toEqual(listed)
    expect((await fetch(`${HOSTING}/workflows/tools/list`, { headers })).status).toBe(401)
  })
})

type Tool = { readonly function: { readonly name: string; readonly description: string } }

async function names(who: Person): Promise<string[]> {
  const tools = (await (await who.fetch(`${HOSTING}/workflows/tools/list`)).json()) as Tool[]
  return tools.map((tool) => tool.function.name)
}

/** The descriptions of the tools that a list of this one name holds. */
async function descriptions(who: Person, name: string): Promise<string[]> {
  const answer = await who.fetch(`${HOSTING}/workflows/tools/list?names=${name}`)
  return ((await answer.json()) as Tool[]).map((tool) => tool.function.description)
}

/** A request that comes while another is answered gets an instance of its own, which sees the write a little later. */
async function sees(who: Person, name: string, description: string): Promise<void> {
  const seen = await until(
    () => descriptions(who, name),
    (found) => found.includes(description),
  )
  expect(seen).toEqual([description])
}

function define(who: Person, name: string, description: string, query = ''): Promise<Response> {
  return who.fetch(`${HOSTING}/workflows/tools/defs/${name}${query}`, {
    method: 'PUT',
    body: JSON.stringify({ description }),
  })
}

async function reason(answer: Response): Promise<string | undefined> {
  const { error } = (await answer.json()) as { error: { details: { reason: string }[] } }
  return error.details[0]?.reason
}
