import type { BuildOptions, BuildResult } from 'esbuild'

export function buildClient(node: string, outDir?: string): Promise<void>
export function bundleClient(options: BuildOptions): Promise<BuildResult>
