import { build as esbuild } from 'esbuild'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundle } from '../../scripts/toolchain/build-functions.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const UPLOADED = ['src', 'workflows', 'package.json']
const INSTALLED = ['node_modules', 'functions/node_modules']

/** Folders of functions, ready for the Functions Framework. */
export type Deployment = {
  /** The folder that `firebase deploy` would upload, built from the current source. */
  readonly ours: string
  /** Builds a file of `servers/` in the same way. Packages remain imports. Resolves to the folder. */
  readonly build: (name: string) => Promise<string>
}

/** Builds the functions in a copy of their folder, with the shipped file layer or with an empty file layer. */
export async function makeDeployment(
  folder: string,
  { hasFileLayer }: { readonly hasFileLayer: boolean },
): Promise<Deployment> {
  const project = join(folder, 'deployment')
  const ours = join(project, 'functions')
  mkdirSync(ours, { recursive: true })
  for (const name of UPLOADED) {
    const isWanted = (path: string): boolean => hasFileLayer || !/\/defs\/.+\.json$/.test(path)
    cpSync(join(ROOT, 'functions', name), join(ours, name), { recursive: true, filter: isWanted })
  }
  for (const name of INSTALLED) symlinkSync(join(ROOT, name), join(project, name), 'junction')
  await bundle(ours)
  writeFileLayer(ours)
  return { ours, build: (name) => buildFunction(ours, name) }
}

/** Writes the file layer as `npm run build` does, but in the copy. */
function writeFileLayer(ours: string): void {
  const script = join(ours, 'src/stores/files/write-file-layer.ts')
  const { status, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the file layer could not be written: ${stderr}`)
}

async function buildFunction(ours: string, name: string): Promise<string> {
  const folder = join(ours, name)
  await esbuild({
    entryPoints: { index: join(ROOT, `bench/servers/${name}.ts`) },
    outdir: folder,
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    packages: 'external',
    alias: { '@toolrack/contract': join(ROOT, 'packages/contract/src/index.ts') },
    logLevel: 'warning',
  })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ type: 'module', main: 'index.js' }))
  return folder
}
