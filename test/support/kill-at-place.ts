import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Onion } from '../../functions/src/calls/onion.ts'
import { BUILTINS, type Builtin } from '../../functions/src/catalog/builtin/builtins.ts'
import { NewestLines } from '../../functions/src/stores/sqlite/newest-lines.ts'

// Loaded by a server before its own code. It watches the steps of calls, the commits to SQLite and the lines of newest records, and
// kills the server at the place that the file `place` names. As long as this file is empty, nothing is watched. With `nowhere` it notes what a kill would leave at each
// place.

// The processes that the server starts do not load this.
delete process.env['NODE_OPTIONS']
const folder = process.env['KILL_FOLDER'] ?? ''
const file = (name: string): string => join(folder, name)
const append = (name: string, line: string): void => appendFileSync(file(name), `${line}\n`)

/** The steps that the call is in, from the outside in, with the number of their own commits and lines. */
const inside: { readonly name: string; commits: number }[] = []

/** Ends this process as `kill -9` does, if this is the place. */
function reach(place: string): void {
  const wanted = readFileSync(file('place'), 'utf8')
  if (wanted === '') return
  append('reached', place)
  if (wanted === 'nowhere') append('left', digestOfFiles())
  if (wanted === place) process.kill(process.pid, 'SIGKILL')
}

/**
 * A digest of all that is left after a kill: the data of the server, and what has been run. SQLite makes `-shm` again. The databases
 * that get their rows behind the answers are left out, because their lines are files too.
 */
function digestOfFiles(): string {
  const data = process.env['TOOLRACK_DATA'] ?? ''
  const entries = readdirSync(data, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile() && !SHARED_OR_BEHIND.test(entry.name))
  const paths = [
    ...files.map(({ parentPath, name }) => join(parentPath, name)).toSorted(),
    file('executions'),
  ]
  const hash = createHash('sha256')
  for (const path of paths.filter((each) => existsSync(each))) hash.update(path).update(readFileSync(path))
  return hash.digest('hex')
}

/** SQLite's shared memory, and the files of databases that get their rows behind the answers. */
const SHARED_OR_BEHIND = /-shm$|^(audit\.sqlite|invocations\.db)(-wal|-journal)?$/

type Act = (...args: readonly unknown[]) => Promise<unknown>
type Adds = (this: object, name: string, act: Act) => object
const onions = Onion.prototype as unknown as { step: Adds; run: Adds }
/** The names of the steps of each onion. */
const namesOf = new WeakMap<object, readonly string[]>()
onions.step = watching(onions.step)
onions.run = watching(onions.run, (names) => append('onions', JSON.stringify(names)))

function watching(adds: Adds, finish?: (names: readonly string[]) => void): Adds {
  return function (name, act) {
    const names = [...(namesOf.get(this) ?? []), name]
    const added = adds.call(this, name, async (...args) => {
      reach(`before: ${name}`)
      inside.push({ name, commits: 0 })
      const outcome = await act(...args)
      inside.pop()
      reach(`after: ${name}`)
      return outcome
    })
    namesOf.set(added, names)
    finish?.(names)
    return added
  }
}

/** A commit, or a line, is a place before and after it. */
function committing<T>(commit: () => T): T {
  const step = inside.at(-1)
  if (!step) return commit()
  const name = `commit ${(step.commits += 1)} of: ${step.name}`
  reach(`before ${name}`)
  const done = commit()
  reach(`after ${name}`)
  return done
}

/** The databases that get their rows behind the answers, at moments that differ from run to run. A call waits for its lines. */
const BEHIND = /\/(audit\.sqlite|invocations\.db)$/

const database = DatabaseSync.prototype
const exec = Reflect.get(database, 'exec')
database.exec = function (sql) {
  const act = (): void => exec.call(this, sql)
  return sql === 'COMMIT' && !BEHIND.test(this.location() ?? '') ? committing(act) : act()
}

const newest = NewestLines.prototype
const add = Reflect.get(newest, 'add')
newest.add = function (...texts) {
  return committing(() => add.apply(this, [...texts]))
}

/** The tool ECHO, which has an effect that can be counted. */
const echo = BUILTINS.get('echo') as Builtin
const counted: Builtin = (args, context) => {
  append('executions', args['text'] as string)
  reach('in the run')
  return echo(args, context)
}
;(BUILTINS as Map<string, Builtin>).set('echo', counted)
