#!/usr/bin/env node
import { join } from 'node:path'
import { bundle } from './toolchain/bundle.mjs'
import { prepare, root } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-failure.mjs'

/** `npm run build`: `functions/dist`, ready to upload. */
await runCommand(async () => {
  await prepare('full')
  try {
    await bundle(join(root, 'functions'))
    return 0
  } catch (err) {
    if (!Array.isArray(err.errors)) throw err
    return 1 // esbuild has printed where and why
  }
})
