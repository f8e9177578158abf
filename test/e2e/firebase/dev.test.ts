import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { appendFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeWithEmulators } from '../../support/emulators.ts'
import { FullCheckout } from '../../support/full-checkout.ts'
import { pasted } from '../../support/printed-lines.ts'
import { commandOf, descendantsOf, isAlive } from '../../support/processes.ts'
import { withPython } from '../../support/runner-environment.ts'
import { ROOT } from '../../support/source-tree.ts'
import { until } from '../../support/until.ts'

const REPOSITORY = fileURLToPath(ROOT)

describeWithEmulators('npm run dev', () => {
  // Two starts of emulators side by side take more than a minute on a busy machine.
  jest.setTimeout(180_000)
  let checkout: FullCheckout
  /** The runner hides its environment, and with it the mark, from its own children; it is below what bears one. */
  const runners = (): number[] =>
    [...new Set(checkout.processes().flatMap(descendantsOf))].filter((pid) =>
      commandOf(pid).includes('--parent=stdin'),
    )
  beforeAll(() => {
    checkout = new FullCheckout()
    cpSync(join(REPOSITORY, 'docs/examples'), join(checkout.root, 'docs/examples'), { recursive: true })
  })
  afterAll(() => checkout[Symbol.asyncDispose]())

  withPython(
    'serves its tokens and runs Python through Hosting until one Ctrl-C, and leaves nothing behind',
    async () => {
      checkout.copyPython()
      const hosting = await checkout.takePorts()
      checkout.run('dev.mjs')
      const [, url = '', user = '', admin = '', isolation = ''] = await checkout.said(
        /is ready at (\S+)\n\n {2}T='(\S+)'\n {2}A='(\S+)'[\s\S]*Python tools run too, at isolation (L\d)\.[\s\S]*Ctrl-C stops everything\./,
      )
      expect(url).toBe(`http://127.0.0.1:${hosting}`)
      // Each on a connection of its own: Hosting closes one that was idle for five seconds, as a next request may be on its way.
      const ask = (path: string, token: string, init: RequestInit = {}): Promise<Response> =>
        fetch(`${url}${path}`, {
          ...init,
          headers: { Authorization: `Bearer ${token}`, Connection: 'close' },
        }).catch((cause: unknown) => {
          throw new Error(`no answer to ${init.method ?? 'GET'} ${path}`, { cause })
        })
      const define = (token: string, query: string): Promise<Response> =>
        ask(`/workflows/tools/defs/SAY_HELLO${query}`, token, {
          method: 'PUT',
          body: '{"description":"Says hello."}',
        })
      // The first transaction of an emulator takes seconds on a busy machine, more than the store waits.
      await until(
        () => define(user, ''),
        ({ status }) => status !== 503,
      )
      expect((await define(user, '')).status).toBe(200)
      expect((await define(user, '?layer=global')).status).toBe(403)
      expect((await define(admin, '?layer=global')).status).toBe(201)
      const [, printed = ''] = /( is ready at [\s\S]*)Ctrl-C stops everything/.exec(checkout.output) ?? []
      // Only curl 7 needs it, so pasting the line does not always show that it is there.
      expect(printed).toMatch(/ -H 'Expect:' -T /)
      const [all = '', defined = '', own = '', global = '', uploaded = '', called = '', ...more] =
        await pasted(printed)
      expect([all, own]).toEqual([
        expect.stringContaining('"READ_FILE"'),
        expect.stringContaining('SAY_HELLO'),
      ])
      for (const answer of [defined, global]) expect(JSON.parse(answer)).toMatchObject({ outcome: 'updated' })
      expect(JSON.parse(uploaded)).toMatchObject({ name: 'weather', outcome: 'created' })
      expect(JSON.parse(called)).toMatchObject({ textResultForLlm: 'Bern: cloudy for 1 day(s).' })
      expect(more).toEqual([])

      const listed = await ask('/workflows/tools/list?names=SAY_HELLO,READ_FILE', user)
      expect(await listed.json()).toHaveLength(2)

      const health = async (): Promise<{ runner: { status: string } }> =>
        (await (await ask('/health', user)).json()) as { runner: { status: string } }
      const [first = 0] = runners()
      process.kill(first, 'SIGKILL')
      const [second = 0] = await until(
        () => Promise.resolve(runners()),
        ([pid]) => pid !== undefined && pid !== first,
      )
      expect(await until(health, ({ runner }) => runner.status === 'ready')).toMatchObject({ isolation })
      expect(checkout.output).toContain('runner was ended by SIGKILL; it is being started again')

      checkout.signal('SIGINT')
      expect(await checkout.ended()).toBe(0)
      expect([checkout.processes(), isAlive(second)]).toEqual([[], false])
    },
  )

  test('functions that throw as they are loaded are told with the place, and end it', async () => {
    const entry = join(checkout.root, 'functions/src/index.ts')
    const before = readFileSync(entry)
    appendFileSync(entry, "throw new Error('thrown at load')\n")
    checkout.run('dev.mjs')
    expect(await checkout.ended()).toBe(1)
    expect(checkout.output).toMatch(
      /^The functions throw as they are loaded:\n.*functions\/src\/index\.ts:\d+/,
    )
    expect(checkout.output).toContain('Error: thrown at load')
    writeFileSync(entry, before)
  })

  test('a port that another program has is told in one sentence', async () => {
    const other = createServer().listen(await checkout.takePorts(), '127.0.0.1')
    await once(other, 'listening')
    checkout.run('dev.mjs')
    expect(await checkout.ended()).toBe(1)
    expect(checkout.output).toMatch(
      /^Port \d+ is in use by another program; stop it, or change emulators\.hosting\.port in firebase\.json\.\n$/,
    )
    other.close()
  })
})
