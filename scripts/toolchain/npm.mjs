import { existsSync, realpathSync } from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import { exitCodeOf, runChild, withFirstOnPath } from './child.mjs'
import { SetupFailure } from './setup-failure.mjs'

const isWindows = process.platform === 'win32'
const linesMax = 8
const failedAttemptsMax = 8
const patience = ['--fetch-retries=3', '--fetch-retry-mintimeout=1000', '--fetch-retry-maxtimeout=4000']

/** Where npm is: the one that runs us, else the one beside the running Node, else the one on PATH. */
export function findNpm({ env = process.env, execPath = process.execPath } = {}) {
  const nodeDir = dirname(realpathSync(execPath))
  const candidates = [
    basename(env.npm_execpath ?? '') === 'npm-cli.js' ? env.npm_execpath : '',
    join(nodeDir, '../lib/node_modules/npm/bin/npm-cli.js'),
    join(nodeDir, 'node_modules/npm/bin/npm-cli.js'),
  ]
  return candidates.find((path) => path !== '' && existsSync(path)) ?? npmOnPath(env)
}

function npmOnPath(env) {
  const name = isWindows ? 'npm.cmd' : 'npm'
  for (const folder of (env.PATH ?? env.Path ?? '').split(delimiter)) {
    if (folder !== '' && existsSync(join(folder, name))) return realpathSync(join(folder, name))
  }
  throw new SetupFailure(
    'npm was not found, neither beside Node nor on PATH: install it, then run this again.',
  )
}

/**
 * Installs what the lock file in `cwd` says, in the process of `node`, into a `node_modules` that is empty; resolves to
 * what npm printed. Without a network npm's own cache gets one try, which is quick either way.
 *
 * Not `npm ci`: it refuses a lock without the optional packages of other platforms, and npm itself writes such a lock
 * where the registry does not carry them all. That the lock fits the manifests is a check of ours (`lock-files.mjs`).
 * Install scripts stay off: nothing we depend on needs one, and npm 10 would run them where npm 11 asks first.
 */
export async function npmInstall({ what, cwd, node, flags = [], env = process.env, onSpawn }) {
  const npm = findNpm({ env })
  const args = [
    'install',
    '--no-save',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=http',
    ...flags,
  ]
  const [command, commandArgs] = npm.endsWith('.js') ? [node, [npm, ...args]] : [npm, args]

  const online = await run(['--prefer-offline', ...patience])
  const result = online.isCutOff ? await run(['--offline']) : online
  if (result.code !== 0) throw installFailure(what, online.output)
  return result.output

  async function run(moreArgs) {
    const watch = watchNetwork()
    const { code, interruptedBy } = await runChild(command, [...commandArgs, ...moreArgs], {
      cwd,
      env: withFirstOnPath(env, node),
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: command.endsWith('.cmd'),
      onSpawn: (child) => {
        watch.follow(child)
        onSpawn?.(child)
      },
    })
    if (interruptedBy) throw new SetupFailure(`Stopped while installing ${what}.`, exitCodeOf(interruptedBy))
    return { code, ...watch.seen }
  }
}

/** npm tries each package by itself, so without a network it would go on failing for minutes: we end it. */
function watchNetwork() {
  const seen = { output: '', isCutOff: false }

  function follow(child) {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        seen.output += text
        if (seen.isCutOff || !isCutOff(seen.output)) return
        seen.isCutOff = true
        child.kill()
      })
    }
  }

  return { seen, follow }
}

/** Many attempts failed and not one answer came from the network. */
export function isCutOff(output) {
  const failed = output.match(/^npm http fetch GET .* attempt \d+ failed with/gm)?.length ?? 0
  return failed >= failedAttemptsMax && !/^npm http fetch GET \d{3} (?!.*\(cache hit\))/m.test(output)
}

export function installFailure(what, output) {
  return new SetupFailure([`Could not install ${what}; npm said:`, ...npmErrors(output)].join('\n'))
}

/** The lines in which npm says why, without stacks and without its pointer to a log file. */
export function npmErrors(output) {
  const lines = output.split(/\r?\n/).filter((line) => line.trim() !== '')
  const errors = lines
    .filter((line) => /^npm (error|ERR!)\s+\S/.test(line))
    .filter((line) => !/^npm \S+\s+at |complete log of/.test(line))
  const failed = lines.filter((line) => / attempt \d+ failed with /.test(line)).slice(-2)
  const reasons = [errors, failed, lines].find((found) => found.length > 0) ?? []
  return reasons.slice(0, linesMax).map((line) => `  ${line}`)
}
