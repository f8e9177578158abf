import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The files that a deployment takes the functions' parameters from, the later ones outweighing the earlier. */
export function parameterFiles(root, project) {
  return ['.env', `.env.${project}`].map((name) => {
    const path = join(root, 'functions', name)
    return { name: `functions/${name}`, path, isHere: existsSync(path) }
  })
}

/** The parameters of a deployment to a project. */
export function deployParameters(root, project) {
  const texts = parameterFiles(root, project).flatMap(({ path, isHere }) =>
    isHere ? [readFileSync(path, 'utf8')] : [],
  )
  return Object.fromEntries(
    texts
      .flatMap((text) => [...text.matchAll(/^([A-Z_]+)=(.*)$/gm)])
      .map(([, name, value]) => [name, value.trim().replace(/^(['"])(.*)\1$/, '$2')]),
  )
}
