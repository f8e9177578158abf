import { changePackages, listedLines, presentLock } from './toolchain/added-packages.mjs'
import { readArguments, usageCode } from './toolchain/arguments.mjs'
import {
  nameOfLine,
  requestsIn,
  versionsIn,
  withoutPackages,
  withPackages,
} from './toolchain/requested-packages.mjs'
import { runCommand, SetupError } from './toolchain/setup-error.mjs'

/** The most names of one command. More of them fit into packages.in. */
const namesMax = 100

const command = {
  name: 'packages',
  about: `Manages the packages that every module can import without asking for them. The runner imports them before its calls.

  npm run packages -- add pandas 'requests>=2.32'
  npm run packages -- remove requests
  npm run packages -- list
  npm run packages -- upgrade

python-runner/packages.in has what you asked for, and python-runner/packages.txt the exact versions with their hashes. If something
cannot be resolved or installed, both files and the installed packages stay as they were, and the exit code is 1.`,
  words: {
    is: 'action',
    most: namesMax + 1,
    oneOf: ['add', 'remove', 'list', 'upgrade'],
    rest: 'name',
  },
}

/** `npm run packages -- add|remove|list|upgrade [name …]` */
await runCommand(async () => {
  const [action, ...names] = readArguments(command).words
  const takesNames = ['add', 'remove'].includes(action)
  if (!action) throw wrong('Say add or remove and the names of packages, or list or upgrade.')
  if (takesNames && names.length === 0) throw wrong(`Name the packages to ${action}, such as pandas.`)
  if (!takesNames && names.length > 0)
    throw wrong(`${action} takes no names. There is no argument '${names[0]}'.`)
  if (action === 'list') return list()
  const before = versionsIn(presentLock().lock)
  const lines = listedLines()
  if (action === 'upgrade' && requestsIn(lines).length === 0)
    throw new SetupError('There is nothing to upgrade: no packages were added.')
  const wanted = { add: withPackages, remove: withoutPackages, upgrade: (same) => same }[action](lines, names)
  const after = versionsIn(await changePackages(wanted, { upgrade: action === 'upgrade' }))
  tell(before, after)
  return 0
})

function list() {
  const { lock, isInstalled } = presentLock()
  const versions = versionsIn(lock)
  const requests = requestsIn(listedLines())
  const width = Math.max(0, ...requests.map((request) => request.length))
  for (const request of requests) {
    const name = nameOfLine(request)
    say(`${request.padEnd(width)}  ${versions.get(name)?.join(', ') ?? 'not locked'}`)
    versions.delete(name)
  }
  if (requests.length === 0) say('No packages were added.')
  else if (versions.size > 0) say(`They need ${[...versions].map(named).join(', ')}.`)
  if (!isInstalled) say('python-runner/packages.txt is not installed yet: npm start installs it.')
  return 0
}

/** Says which packages are new, changed or gone. */
function tell(before, after) {
  const changed = [...after].filter(([name, versions]) => String(before.get(name)) !== String(versions))
  const gone = [...before].filter(([name]) => !after.has(name))
  if (changed.length > 0) say(`Installed: ${changed.map(named).join(', ')}.`)
  if (gone.length > 0) say(`Removed: ${gone.map(named).join(', ')}.`)
  say(changed.length + gone.length > 0 ? 'The next npm start uses them.' : 'Nothing has changed.')
}

function named([name, versions]) {
  return `${name} ${versions.join(' or ')}`
}

function say(line) {
  process.stdout.write(`${line}\n`)
}

function wrong(sentence) {
  return new SetupError(`${sentence}\nnpm run packages -- --help says what there is.`, usageCode)
}
