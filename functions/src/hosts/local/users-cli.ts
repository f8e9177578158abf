import { existsSync, mkdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { LOCAL_USERS_MAX, localUsersText, newLocalUser, type LocalUser } from '../../access/local-users.ts'
import { isUid, UID_RULE } from '../../access/principal.ts'
import { writeWholeFile } from '../../write-whole-file.ts'
import { USERS_FILE } from './private-files.ts'
import { StartError } from './start-error.ts'
import { readUsersFile } from './users-file.ts'

/**
 * The program of `npm run users -- add|remove|renew|list [name]`. It changes the users of an embedded server. Its data folder is
 * `TOOLRACK_DATA`. The exit code is 0 if the file was changed or listed as requested, else 1.
 */
const [verb = '', name = '', ...flags] = process.argv.slice(2)
const folder = resolve(process.env['TOOLRACK_DATA'] || '.toolrack')
const path = join(folder, USERS_FILE)
try {
  run()
} catch (error) {
  if (!(error instanceof StartError)) throw error
  fail(error.message)
}

function run(): void {
  const isNew = !existsSync(path)
  const users = isNew ? [] : readUsersFile(path)
  if (verb === 'list') return list(users, isNew)
  if (!isUid(name)) return fail(`This cannot be the name of a user: ${UID_RULE}. Nothing was changed.`)
  const known = users.find((user) => user.name === name)
  const others = users.filter((user) => user !== known)
  if (verb === 'add') {
    if (known) return fail(`${name} is a user already. npm run users -- renew ${name} gives new tokens.`)
    if (users.length >= LOCAL_USERS_MAX) return fail(`There are ${LOCAL_USERS_MAX} users; remove one first.`)
    return put(others, name, flags.includes('--admin'), isNew)
  }
  if (!known) return fail(`There is no user ${name} in ${path}. Nothing was changed.`)
  if (verb === 'renew') return put(others, name, known.isAdmin, false)
  write(others)
  console.log(`${name} is no user any more. What ${name} has defined stays in the data folder.`)
  if (others.length === 0)
    console.log(`No user is left, so nobody has access. Without ${path}, the server has one user again.`)
}

function put(others: readonly LocalUser[], who: string, isAdmin: boolean, isNew: boolean): void {
  const { user, tokens } = newLocalUser(who, isAdmin)
  write([...others, user])
  console.log(`The tokens of ${who}${isAdmin ? ', who is an admin' : ''}. They are shown only now:

  token           ${tokens.token}
  approver token  ${tokens.approverToken}

Programs and models get the token. Only ${who} gets the approver token, which also decides approvals, accepts grants, and writes rules and secrets.
A server that runs with ${path} knows them within a second.`)
  if (isNew)
    console.log(
      `This is the first user. If a server runs with this data folder, start it again: the token that it printed ends then, and its user 'local' is nobody's. To keep what 'local' has defined, add a user of that name.`,
    )
}

function write(users: readonly LocalUser[]): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  writeWholeFile(path, localUsersText(users.toSorted((a, b) => (a.name < b.name ? -1 : 1))))
}

function list(users: readonly LocalUser[], isNew: boolean): void {
  if (isNew) console.log(`There is no ${path}: the server has one user, with the token that it prints.`)
  for (const user of users) console.log(`${user.name}${user.isAdmin ? '  admin' : ''}`)
}

function fail(sentence: string): void {
  console.error(sentence)
  process.exitCode = 1
}
