/** 1 to 64 letters, digits and `_`; what else a name may not be, such as a word of Python, is the runner's to say. */
const NAME = /^(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}$/

/** Whether a module can have this name: nothing else is ever looked for in a store. */
export function isModuleName(name: string): boolean {
  return NAME.test(name)
}
