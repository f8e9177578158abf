/** What begins with `.` or `_` is hidden or private, and what editors leave beside a file ends otherwise or begins with a dot. */
const MODULE_FILE = /^[^._].*\.py$/su

/** Whether a file of this name is a module of the folder; any other is not looked at, and not told of. */
export function isModuleFile(name: string): boolean {
  return MODULE_FILE.test(name)
}

/** The name of the module that a file holds; whether a module can have it is the runner's to say. */
export function moduleNameOf(file: string): string {
  return file.slice(0, -'.py'.length)
}
