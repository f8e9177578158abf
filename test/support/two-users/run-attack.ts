import { ATTACKS } from './attacks.ts'
import { LOOP_ATTACKS } from './loop-attacks.ts'
import { User } from './user.ts'

/** Runs one attack until the IPC channel ends: `run-attack.ts <url> <token> <name of the attack>`. Sends a message when it has begun. */
const [url = '', token = '', name] = process.argv.slice(2)
const attack = [...ATTACKS, ...LOOP_ATTACKS].find((each) => each.name === name)
if (!attack) throw new Error(`there is no attack ${name}`)
process.once('disconnect', () => process.exit())
const user = new User(url, token)
await attack.prepare?.(user)
for (let loop = 0; loop < attack.atOnce; loop += 1) void goOn(loop)
process.send?.('begun')

async function goOn(loop: number): Promise<never> {
  for (let turn = 0; ; turn += 1) {
    const startedMs = performance.now()
    await attack?.step(user, loop, turn)
    // Without a pause, an attacker that is refused at once would load its own processor instead of the service.
    if (performance.now() - startedMs < 5) await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
