import { ToolrackError } from '@toolrack/contract'
import type { Call } from './call.ts'
import type { InvokeParts } from './invoke-parts.ts'

/** Whether the arguments fit the definition's schema, for tools that the service runs. */
export async function validateArguments(call: Call, { checker }: InvokeParts): Promise<void> {
  const { entry, request } = call
  if (entry.callable !== 'service') return
  const { faults } = await checker.check(entry.stored, request.arguments)
  if (faults.length > 0) throw new ToolrackError('ARGUMENTS_INVALID', `${entry.name}: ${faults.join(' ')}`)
}
