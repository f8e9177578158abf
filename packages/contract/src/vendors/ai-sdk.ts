import { answerParts } from '../calls/answer-images.ts'
import type { AnsweredCall, CallFormat } from '../calls/call-format.ts'
import type { JsonObject } from '../json.ts'
import { IMAGES_OF_MOST_MODELS } from './images-of-most-models.ts'

/**
 * The calls of Vercel's AI SDK, version 5 or newer. A call is `{"type":"tool-call","toolCallId","toolName","input":{…}}`. The
 * answers are one message with `tool-result` parts. Images in them need version 6 or newer.
 */
export const aiSdkCalls: CallFormat<'ai-sdk'> = {
  name: 'ai-sdk',
  itemsKey: 'content',
  isCall: (item) => item['type'] === 'tool-call' && item['providerExecuted'] !== true,
  // The vendor runs such a call itself, if `isCall` does not accept it. So it is not for the service.
  isOther: ({ type }) => type === 'tool-call',
  id: ({ toolCallId }) => toolCallId,
  idFault: 'must have a toolCallId',
  read: ({ toolName, input }) => {
    if (typeof toolName !== 'string') return 'must have a toolName'
    // Version 4 of the SDK sends `args` in place of `input`, and needs other answers.
    if (input === undefined) return 'must have an input, as version 5 of the AI SDK sends it'
    return { name: toolName, arguments: typeof input === 'string' ? { text: input } : { value: input } }
  },
  // The model may be one of OpenAI in strict mode, which writes null for an omitted argument.
  nullMeansOmitted: true,
  images: IMAGES_OF_MOST_MODELS,
  messages: (answered) => {
    if (answered.length === 0) return []
    const content = answered.map((one) => ({
      type: 'tool-result',
      toolCallId: one.call.id ?? '',
      toolName: one.call.name,
      output: outputOf(one),
    }))
    return [{ role: 'tool', content }]
  },
}

function outputOf(answered: AnsweredCall): JsonObject {
  const { text, images } = answerParts(answered, IMAGES_OF_MOST_MODELS)
  const type = answered.result.resultType === 'failure' ? 'error-text' : 'text'
  if (images.length === 0) return { type, value: text }
  const parts = images.map(({ mimeType, data }): JsonObject => {
    return { type: 'image-data', data, mediaType: mimeType }
  })
  return { type: 'content', value: [{ type: 'text', text }, ...parts] }
}
