/**
 * Thrown if the embedded server cannot start. The message is one line for the person at the terminal. It says what is wrong and
 * what to do.
 */
export class StartError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Exit codes. Except the first, they are named in sysexits.h. */
export const EXIT = {
  usage: 2, // npm start does not know an argument (scripts/toolchain/arguments.mjs uses it).
  damagedData: 65, // EX_DATAERR: a file of the data folder is damaged, or is missing although it was there.
  addressTaken: 69, // EX_UNAVAILABLE: the port or address cannot be used.
  crashLoop: 70, // EX_SOFTWARE: the service crashed repeatedly (scripts/toolchain/supervise.mjs uses it).
  unwritableData: 73, // EX_CANTCREAT: the data folder cannot be written.
  dataInUse: 75, // EX_TEMPFAIL: another server uses the data.
  badConfig: 78, // EX_CONFIG: a variable has a value that cannot be used.
} as const

/** The code of a system error, such as EACCES, or the message of another error. */
export function reasonOf(error: unknown): string {
  const { syscall, code, message } = error as NodeJS.ErrnoException
  return syscall !== undefined && code !== undefined ? code : message.replace(/\.$/, '')
}

/** SQLite's result code of a full disk (sqlite.org/rescode.html). */
const SQLITE_FULL = 13

/** The error of a start for which the disk has too little space. Undefined for any other error. */
export function fullDisk(error: unknown): StartError | undefined {
  const { code, errcode } = error as { code?: string; errcode?: number }
  if (code !== 'ENOSPC' && code !== 'EDQUOT' && errcode !== SQLITE_FULL) return undefined
  return new StartError(
    `The disk of the data folder is full (${(error as Error).message.replace(/\.$/, '')}). Free some space, or set TOOLRACK_DATA to a folder on another disk.`,
    EXIT.unwritableData,
  )
}
