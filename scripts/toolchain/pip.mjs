import { exitCodeOf, runChild } from './child.mjs'
import { PythonMissing } from './python-missing.mjs'
import { SetupFailure } from './setup-failure.mjs'

/** Exactly what the lock says, by its hashes, and nothing that would have to be built. */
const flags = ['--require-hashes', '--only-binary', ':all:', '--retries', '2']

const elsewhere = new Set(['PYTHONHOME', 'PYTHONPATH', 'PIP_TARGET', 'PIP_PREFIX', 'PIP_ROOT', 'PIP_PYTHON'])

/** Installs what a lock file says into the environment that the pip belongs to. */
export async function pipInstall({ pip, what, lock, env, onSpawn }) {
  const quiet = ['--disable-pip-version-check', '--no-input', '--quiet']
  const { code, output } = await runPython([...pip, 'install', ...quiet, ...flags, '-r', lock], {
    env,
    onSpawn,
    what,
  })
  if (code === 0) return
  process.stderr.write(output)
  throw new PythonMissing(
    `Could not install ${what} (pip: ${reasonOf(output)}): run the command again where pip reaches its registry.`,
  )
}

/** Runs a Python program to its end; resolves to its exit code and what it said. */
export async function runPython([command, ...args], { env, onSpawn, what = 'Python packages' }) {
  let output = ''
  const { code, interruptedBy } = await runChild(command, args, {
    env: cleanEnvironment(env),
    stdio: ['ignore', 'pipe', 'pipe'],
    onSpawn: (child) => {
      for (const stream of [child.stdout, child.stderr])
        stream.setEncoding('utf8').on('data', (text) => (output += text))
      onSpawn?.(child)
    },
  })
  if (interruptedBy) throw new SetupFailure(`Stopped while installing ${what}.`, exitCodeOf(interruptedBy))
  return { code, output }
}

/** A pip that is set up to install elsewhere, such as into the home folder, would leave the environment empty. */
function cleanEnvironment(env) {
  const kept = Object.entries(env).filter(([name]) => !elsewhere.has(name))
  return { ...Object.fromEntries(kept), PIP_USER: '0', PIP_REQUIRE_VIRTUALENV: '0' }
}

/** pip's last word on it, without its log. */
function reasonOf(output) {
  const lines = output.split(/\r?\n/).filter((line) => line.trim() !== '')
  const errors = lines.filter((line) => line.startsWith('ERROR: '))
  return (errors.at(-1) ?? lines.at(-1) ?? 'no reason').replace(/^ERROR: /, '').replace(/[.:]+$/, '')
}
