#!/usr/bin/env node
import { join } from 'node:path'
import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-failure.mjs'

/** `npm run editor-schema`: writes the editor schema of the definition files anew, after a change of their shape. */
await runCommand(async () => {
  const node = await prepare('runtime')
  const { code } = await runWithNode(
    node,
    [join(root, 'functions/src/stores/files/write-editor-schema.ts')],
    {
      cwd: root,
      stdio: 'inherit',
    },
  )
  return code
})
