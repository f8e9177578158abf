import type { JsonObject, JsonValue } from '@toolrack/contract'
import { isJsonObject, ToolrackError } from '@toolrack/contract'
import { isDigest } from '../../access/job-token.ts'
import { unsafeArgument } from './unsafe-argument.ts'
import type { CallRequest } from './call.ts'

/** The one place where the body of an invoke becomes a call. Nothing of a value that is refused is repeated. */
export function parseCallRequest(body: JsonValue): CallRequest {
  if (!isJsonObject(body)) throw invalid('', 'it must be a JSON object: {"name": "…", "arguments": { … }}')
  const { name, arguments: args = {}, context = {}, expectedDigest, session, ...rest } = body
  if (typeof name !== 'string') throw invalid('/name', 'it must be the name of a tool')
  if (session !== undefined)
    throw new ToolrackError(
      'PARAMETER_UNAVAILABLE',
      'The field session is not available in this version; leave it out.',
    )
  if (Object.keys(rest).length > 0)
    throw invalid('', 'it takes name, arguments, context and expectedDigest, and nothing else')
  if (expectedDigest !== undefined && !isDigest(expectedDigest))
    throw invalid('/expectedDigest', 'it must be a digest as explain shows it: sha256:…')
  return { name, arguments: callArguments(args), context: contextOf(context), expectedDigest }
}

/** The arguments of a call, whoever sent it. */
export function callArguments(args: JsonValue): JsonObject {
  if (!isJsonObject(args))
    throw new ToolrackError(
      'ARGUMENTS_INVALID',
      'The arguments must be a JSON object: a name and a value for each.',
    )
  const fault = unsafeArgument(args)
  if (fault) throw new ToolrackError('ARGUMENTS_INVALID', `The argument ${fault}.`)
  return args
}

function contextOf(context: JsonValue): JsonObject {
  if (!isJsonObject(context)) throw invalid('/context', 'it must be a JSON object')
  const fault = unsafeArgument(context)
  if (fault) throw invalid('/context', `its field ${fault}`)
  return context
}

function invalid(pointer: string, fault: string): ToolrackError {
  return new ToolrackError('BODY_INVALID', `The body${pointer && ` at ${pointer}`}: ${fault}.`)
}
