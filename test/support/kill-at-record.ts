import { StatementSync } from 'node:sqlite'

// Loaded by a server before its own code. It ends the server as `kill -9` does, before or after it adds its first audit record.

delete process.env['NODE_OPTIONS']
const when = process.env['KILL_AT_RECORD']

type Run = (this: StatementSync, ...values: never[]) => unknown
const statement = StatementSync.prototype as { run: Run }
const run: Run = Reflect.get(statement, 'run')
statement.run = function (...values) {
  const isRecord = this.sourceSQL.startsWith('INSERT INTO records ')
  if (isRecord && when === 'before') process.kill(process.pid, 'SIGKILL')
  const done = run.apply(this, values)
  if (isRecord && when === 'after') process.kill(process.pid, 'SIGKILL')
  return done
}
