import { expect } from '@jest/globals'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PYTHON, withPython } from '../support/runner-environment.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { makeCheckout } from './support/checkout.ts'

/** Writes wheels of two packages into the current folder. */
const WHEELS = `
import zipfile
for name in ("tiny_one", "tiny_two"):
    with zipfile.ZipFile(f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        info = f"{name}-1.0.dist-info"
        wheel.writestr(f"{name}.py", "")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\\nGenerator: test\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(f"{info}/RECORD", "")
`

/** A checkout whose runner needs no packages, and a folder with wheels in place of a registry. */
function prepared() {
  const checkout = makeCheckout()
  const wheels = temporaryFolder()
  for (const lock of ['requirements.txt', 'requirements-dev.txt'])
    writeFileSync(join(checkout.root, 'python-runner', lock), '# nothing\n')
  const written = spawnSync(PYTHON, ['-I', '-c', WHEELS], { cwd: wheels.path, encoding: 'utf8' })
  expect([written.status, written.stderr]).toEqual([0, ''])
  const hashOf = (name: string): string =>
    createHash('sha256')
      .update(readFileSync(join(wheels.path, `${name}-1.0-py3-none-any.whl`)))
      .digest('hex')
  const registry = { PIP_NO_INDEX: '1', PIP_FIND_LINKS: wheels.path, PIP_CONFIG_FILE: '/dev/null' }

  /** Starts over this lock: what the service is told about Python, the warning, and the packages that are there. */
  async function start(lock: string, env: Readonly<Record<string, string>> = registry) {
    writeFileSync(join(checkout.root, 'python-runner/packages.txt'), lock)
    const all = { TOOLRACK_PYTHON: PYTHON, ...env }
    const run = checkout.run('start.mjs', ['--exit=0'], 'works', 'works', all)
    expect(await run.ended()).toBe(0)
    const library = join(checkout.root, 'python-runner/.venv/lib')
    const [version = ''] = existsSync(library) ? readdirSync(library) : []
    const installed = version === '' ? [] : readdirSync(join(library, version, 'site-packages'))
    return {
      hasPython: run.output().includes('--python='),
      warning: /^WARNING: python-runner.*$/m.exec(run.output())?.[0],
      packages: installed.filter((name) => /^tiny_\w+\.py$/.test(name)),
    }
  }
  return {
    start,
    line: (name: string, hash = hashOf(name)) => `${name.replace('_', '-')}==1.0 --hash=sha256:${hash}\n`,
    [Symbol.dispose]() {
      checkout[Symbol.dispose]()
      wheels[Symbol.dispose]()
    },
  }
}

withPython(
  'a lock with a wrong hash, or without a network, keeps the packages that worked, and says which line',
  async () => {
    using checkout = prepared()
    const { start, line } = checkout
    const works = line('tiny_one')
    const kept = { hasPython: true, packages: ['tiny_one.py'] }
    expect(await start(works)).toEqual({ ...kept, warning: undefined })

    expect(await start(works + line('tiny_two', '0'.repeat(64)))).toEqual({
      ...kept,
      warning: expect.stringMatching(
        /^WARNING: python-runner\/packages\.txt, line 2 \(tiny-two==1\.0 .*\), cannot be installed\. The packages from before are used\. Correct this line/,
      ),
    })
    const offline = {
      PIP_INDEX_URL: 'http://127.0.0.1:9/simple',
      PIP_CONFIG_FILE: '/dev/null',
      PIP_FIND_LINKS: '',
    }
    const { warning, ...state } = await start(`${works}${line('tiny_two')}`, offline)
    expect([state, warning]).toEqual([
      kept,
      expect.stringMatching(
        /^WARNING: python-runner\/packages\.txt cannot be installed\. The packages from before are used\. pip does not reach its registry/,
      ),
    ])
  },
)
