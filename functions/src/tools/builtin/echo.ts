import type { Builtin } from './builtin.ts'

/** Gives the text back. */
export const echo: Builtin = ({ text }) => text
