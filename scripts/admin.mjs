import { join } from 'node:path'
import { adminHelp, adminPlan } from './toolchain/admin-plan.mjs'
import { prepare, root, runWithNode } from './toolchain/checkout.mjs'
import { runCommand } from './toolchain/setup-error.mjs'
import { targetEnvironment } from './toolchain/target-project.mjs'

/** `npm run admin -- grant|revoke <uid or mail> [--project id]`: says who is an admin of the running emulators, or of a project. */
await runCommand(async () => {
  const { isHelp, verb, user, project } = adminPlan(process.argv.slice(2))
  if (isHelp) {
    process.stdout.write(adminHelp)
    return 0
  }
  const node = await prepare('runtime')
  const args = [join(root, 'functions/src/hosts/cloud/admin-cli.ts'), verb, user]
  return (await runWithNode(node, args, { env: targetEnvironment(project) })).code
})
