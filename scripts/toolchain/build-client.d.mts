import type { BuildOptions, BuildResult } from 'esbuild'

export function buildClient(root: string, node: string, outDir?: string): Promise<void>
export function bundleClient(root: string, options: BuildOptions): Promise<BuildResult>
