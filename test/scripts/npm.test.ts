import { expect, test } from '@jest/globals'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const npm = new URL('../../scripts/toolchain/npm.mjs', import.meta.url).href

// With its own options npm fills the environment of a script that it runs.
test.each(['npm_config_dry_run', 'npm_config_package_lock_only', 'npm_config_global'])(
  'npm installs the packages of a folder although %s is set',
  (name) => {
    const folder = mkdtempSync(join(tmpdir(), 'toolrack-npm-'))
    try {
      mkdirSync(join(folder, 'small'))
      writeFileSync(join(folder, 'small/package.json'), '{"name":"small","version":"1.0.0"}')
      const manifest = { name: 'big', version: '1.0.0', dependencies: { small: 'file:small' } }
      writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
      const script = `const { npmInstall } = await import(${JSON.stringify(npm)})
        await npmInstall({ what: 'big', cwd: ${JSON.stringify(folder)}, node: process.execPath })`
      execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
        cwd: fileURLToPath(new URL('.', import.meta.url)),
        env: { ...process.env, npm_config_prefix: join(folder, 'global'), [name]: 'true' },
        stdio: 'pipe',
      })
      expect(existsSync(join(folder, 'node_modules/small/package.json'))).toBe(true)
    } finally {
      rmSync(folder, { recursive: true })
    }
  },
  60_000,
)
