/** Why the embedded server did not start: one sentence for the person at the terminal, and the exit code. */
export class StartError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number) {
    super(message)
    this.exitCode = exitCode
  }
}

/** Exit codes, as sysexits.h names them. */
export const EXIT = {
  /** EX_DATAERR: the database file is damaged. */
  damagedData: 65,
  /** EX_UNAVAILABLE: the port or address can't be had. */
  addressTaken: 69,
  /** EX_SOFTWARE: the service died again and again; npm start ends with it (scripts/toolchain/supervise.mjs). */
  crashLoop: 70,
  /** EX_CANTCREAT: the data folder can't be written. */
  unwritableData: 73,
  /** EX_TEMPFAIL: another server has the data. */
  dataInUse: 75,
  /** EX_CONFIG: a variable has a value that can't be used. */
  badConfig: 78,
} as const
