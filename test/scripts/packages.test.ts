import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PYTHON, withPython } from '../support/runner-environment.ts'
import { ROOT } from '../support/source-tree.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { writeWheel } from '../support/wheels.ts'
import { makeCheckout } from './support/checkout.ts'

/** Wheels in place of an index. `uv` is a wheel of the real uv, because the command uses the uv of the runner's environment. */
const wheels = temporaryFolder()
const checkout = makeCheckout()
const runner = join(checkout.root, 'python-runner')
const uv = join(dirname(PYTHON), 'uv')

beforeAll(() => {
  writeWheel(wheels.path, tiny('tiny-one', '1.0', ['tiny-two>=1']))
  writeWheel(wheels.path, tiny('tiny-two', '1.0'))
  writeWheel(wheels.path, tiny('tiny-three', '1.0', ['tiny-base>=2']))
  writeWheel(wheels.path, tiny('tiny-base', '2.0'))
  const locked = [
    writeWheel(wheels.path, {
      name: 'uv',
      version: '9.0',
      files: { 'uv-9.0.data/scripts/uv': `#!/bin/sh\nexec '${uv}' "$@"\n` },
    }),
    writeWheel(wheels.path, tiny('tiny-base', '1.0')),
  ].map(
    ({ file, sha256 }) =>
      `${file.split('-')[0]?.replace('_', '-')}==${file.split('-')[1]} --hash=sha256:${sha256}`,
  )
  for (const lock of ['requirements.txt', 'requirements-dev.txt'])
    writeFileSync(join(runner, lock), `${locked.join('\n')}\n`)
})

afterAll(() => {
  checkout[Symbol.dispose]()
  wheels[Symbol.dispose]()
})

function tiny(name: string, version: string, requires: readonly string[] = []) {
  const module = name.replace('-', '_')
  return { name, version, requires, files: { [`${module}.py`]: `VERSION = '${version}'\n` } }
}

/** Runs the command in the checkout, with the wheels and without an index. */
async function packages(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const all = {
    TOOLRACK_PYTHON: PYTHON,
    TOOLRACK_PACKAGES_WHEELS: wheels.path,
    PIP_NO_INDEX: '1',
    PIP_CONFIG_FILE: '/dev/null',
    UV_NO_CACHE: '1',
    ...env,
  }
  const run = checkout.run('packages.mjs', args, 'works', 'works', all)
  return { code: await run.ended(), said: run.output().replaceAll(checkout.root, '.') }
}

function file(name: string): string | undefined {
  const path = join(runner, name)
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

/** The tiny modules that are installed, and what is written. */
function state() {
  const library = join(runner, '.venv/lib')
  const [version = ''] = readdirSync(library)
  const site = readdirSync(join(library, version, 'site-packages'))
  return {
    installed: site.filter((name) => /^tiny_\w+\.py$/.test(name)).toSorted(),
    list: file('packages.in'),
    lock: file('packages.txt'),
  }
}

describe('the packages of the operator', () => {
  withPython(
    'add locks with hashes and installs, list shows it, and the environment is the one that npm start uses',
    async () => {
      expect(await packages(['add', 'tiny-one'])).toEqual({
        code: 0,
        said: expect.stringMatching(
          /Installed: tiny-one 1\.0, tiny-two 1\.0\.\nThe next npm start uses them\.\n$/,
        ),
      })
      const { installed, list, lock } = state()
      expect(installed).toEqual(['tiny_base.py', 'tiny_one.py', 'tiny_two.py'])
      expect(list).toMatch(/^# The packages that modules can import .*\ntiny-one\n$/)
      expect(lock).toMatch(/^tiny-one==1\.0 \\\n {4}--hash=sha256:[0-9a-f]{64}$/m)
      expect([lock?.includes(checkout.root), lock?.includes(wheels.path)]).toEqual([false, false])
      expect(await packages(['list'])).toEqual({ code: 0, said: 'tiny-one  1.0\nThey need tiny-two 1.0.\n' })
      const start = checkout.run('start.mjs', ['--exit=0'], 'works', 'works', {
        TOOLRACK_PYTHON: PYTHON,
        PIP_NO_INDEX: '1',
      })
      expect([await start.ended(), start.output()]).toEqual([
        0,
        expect.not.stringContaining('Installing the Python'),
      ])
    },
  )

  withPython('a new version is taken by upgrade and not by the addition of another package', async () => {
    writeWheel(wheels.path, tiny('tiny-two', '1.1'))
    writeWheel(wheels.path, tiny('tiny-four', '1.0'))
    expect((await packages(['add', 'tiny-four'])).said).toContain('Installed: tiny-four 1.0.\n')
    expect((await packages(['upgrade'])).said).toContain('Installed: tiny-two 1.1.\n')
    expect(await packages(['remove', 'Tiny_Four'])).toEqual({
      code: 0,
      said: expect.stringContaining('Removed: tiny-four 1.0.\n'),
    })
    expect(state().installed).toEqual(['tiny_base.py', 'tiny_one.py', 'tiny_two.py'])
  })

  withPython(
    'a package that does not exist, or that needs another version of a package of the runner, changes nothing',
    async () => {
      const before = state()
      for (const name of ['tiny-none', 'tiny-three'])
        expect(await packages(['add', name])).toEqual({
          code: 1,
          said: expect.stringMatching(
            /No solution found[^]*These packages cannot be locked: uv has said why\. Nothing was changed\.\n$/,
          ),
        })
      expect(state()).toEqual(before)
    },
  )

  withPython('an installation that fails keeps the list, the lock and the environment', async () => {
    const before = state()
    // uv reads only the metadata of this wheel. pip refuses its file, which lies outside of the environment.
    const escaping = { name: 'tiny-five', version: '1.0', files: { '../../../../../tiny_escaped.py': '' } }
    writeWheel(wheels.path, escaping)
    expect(await packages(['add', 'tiny-five'])).toEqual({
      code: 1,
      said: expect.stringMatching(
        /Could not install the Python runner's packages: [^]* Nothing was changed\.\n$/,
      ),
    })
    expect(state()).toEqual(before)
  })

  withPython('while a server of the checkout runs, nothing is changed', async () => {
    const before = state()
    const server = checkout.run('start.mjs', [], 'works', 'works', {
      TOOLRACK_PYTHON: PYTHON,
      PIP_NO_INDEX: '1',
    })
    await server.said('ready')
    expect(await packages(['remove', 'tiny-one'])).toEqual({
      code: 1,
      said: expect.stringContaining('cannot be replaced beneath it: stop the server, then run this again.'),
    })
    server.child.kill('SIGTERM')
    await server.ended()
    expect(state()).toEqual(before)
  })

  withPython('the commands of docs/how-to/run.md work', async () => {
    writeWheel(wheels.path, tiny('humanize', '4.12.3'))
    const page = readFileSync(new URL('docs/how-to/run.md', ROOT), 'utf8')
    const commands = [...page.matchAll(/^npm run packages -- (.+)$/gm)].map(([, args = '']) =>
      args.split(' '),
    )
    expect(commands.map(([action]) => action)).toEqual(['add', 'list', 'remove'])
    for (const args of commands) expect(await packages(args)).toMatchObject({ code: 0 })
  })

  withPython('when the last package is removed, there are no files any more', async () => {
    expect((await packages(['remove', 'tiny-one'])).code).toBe(0)
    expect(state()).toEqual({ installed: ['tiny_base.py'], list: undefined, lock: undefined })
    expect(await packages(['list'])).toEqual({ code: 0, said: 'No packages were added.\n' })
  })
})

test('a lock whose list is missing is not replaced', async () => {
  const other = makeCheckout()
  writeFileSync(join(other.root, 'python-runner/packages.txt'), 'six==1.17.0 --hash=sha256:00\n')
  const run = other.run('packages.mjs', ['add', 'pandas'])
  expect([await run.ended(), run.output()]).toEqual([
    1,
    expect.stringMatching(
      /^python-runner\/packages\.txt is there, and .* is not\. .* Nothing was changed\.\n$/,
    ),
  ])
  other[Symbol.dispose]()
})
