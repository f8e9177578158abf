import { GlobSet, YES } from '../matching/glob-set.ts'
import type { GlobKind } from './glob.ts'

/** The most compiled globs of each kind that are kept. The rules of several owners have fewer. */
const COMPILED_MAX = 2_000

/** The compiled globs. They are kept, because lists and calls compare the same globs with many texts. */
const COMPILED: Readonly<Record<GlobKind, Map<string, GlobSet>>> = {
  name: new Map(),
  text: new Map(),
  path: new Map(),
}

/** True if the whole text matches the glob. To compare many globs with one text, use a `GlobSet`. */
export function matchesGlob(glob: string, text: string, kind: GlobKind): boolean {
  return compiledGlob(glob, kind).answers(text)[0] === YES
}

export function compiledGlob(glob: string, kind: GlobKind): GlobSet {
  const known = COMPILED[kind]
  let compiled = known.get(glob)
  if (!compiled) {
    if (known.size >= COMPILED_MAX) known.clear()
    compiled = new GlobSet([glob], kind)
    known.set(glob, compiled)
  }
  return compiled
}
