import { answerParts, dataUrl } from '../calls/answer-images.ts'
import type { AnsweredCall, CallFormat } from '../calls/call-format.ts'
import type { JsonObject, JsonValue } from '../json.ts'
import { IMAGES_OF_MOST_MODELS } from './images-of-most-models.ts'

/**
 * The calls of LangChain. A call is `{"type":"tool_call","id","name","args":{…}}`. Its answer is a message of the type `tool`. If
 * LangChain could not parse the arguments, the call is an `invalid_tool_call`, and `args` is a text. The service reads it too,
 * and tells the model what is wrong with the text.
 */
export const langchainCalls: CallFormat<'langchain'> = {
  name: 'langchain',
  itemsKey: 'tool_calls',
  moreItemsKey: 'invalid_tool_calls',
  // In a message of LangChain, `content` repeats the calls in the format of the model's vendor.
  otherKeys: ['content'],
  isCall: ({ type }) => type === 'tool_call' || type === 'invalid_tool_call',
  isOther: ({ type }) => type === 'server_tool_call',
  id: ({ id }) => id,
  idFault: 'must have an id',
  read: ({ name, args = {} }) => {
    if (typeof name !== 'string') return 'must have a name'
    return { name, arguments: typeof args === 'string' ? { text: args } : { value: args } }
  },
  // The model may be one of OpenAI in strict mode, which writes null for an omitted argument.
  nullMeansOmitted: true,
  images: IMAGES_OF_MOST_MODELS,
  messages: (answered) =>
    answered.map((one) => ({ type: 'tool', tool_call_id: one.call.id ?? '', content: contentOf(one) })),
}

/** The block `image_url` is the only one for an image that LangChain reads in Python and in JavaScript. */
function contentOf(answered: AnsweredCall): JsonValue {
  const { text, images } = answerParts(answered, IMAGES_OF_MOST_MODELS)
  if (images.length === 0) return text
  const blocks = images.map((image): JsonObject => {
    return { type: 'image_url', image_url: { url: dataUrl(image) } }
  })
  return [{ type: 'text', text }, ...blocks]
}
