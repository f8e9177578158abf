import type { Builtin } from './builtin.ts'
import { echo } from './echo.ts'
import { time } from './time.ts'

/** Every built-in tool, by what a definition's runner calls it: `{"kind":"builtin","builtin":"echo"}`. */
export const BUILTINS: ReadonlyMap<string, Builtin> = new Map([
  ['echo', echo],
  ['time', time],
])
