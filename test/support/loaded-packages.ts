import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Runs code in another process, and returns the packages that the process has loaded. The code reads them from `loaded`. `cwd` is
 * the folder from which it imports.
 */
export function loadedPackages(
  packages: readonly string[],
  code: string,
  env: NodeJS.ProcessEnv = {},
  cwd = ROOT,
): readonly string[] {
  const hook = `
    import { registerHooks } from 'node:module'
    globalThis.loaded = []
    registerHooks({ resolve(specifier, context, next) {
      globalThis.loaded.push(specifier)
      console.log('loads ' + specifier)
      return next(specifier, context)
    } })`
  const program = `await import('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}))\n${code}`
  const { stdout, stderr, status } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    cwd,
    env: { ...process.env, ...env },
    encoding: 'utf8',
    timeout: 20_000,
  })
  if (status !== 0) throw new Error(stderr)
  const loaded = stdout.split('\n')
  return packages.filter((name) =>
    loaded.some((line) => line === `loads ${name}` || line.startsWith(`loads ${name}/`)),
  )
}
