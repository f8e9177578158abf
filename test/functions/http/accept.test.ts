import { expect, test } from '@jest/globals'
import { callAnswer } from '../../../functions/src/http/accept.ts'

test.each([
  [undefined, 'json', true],
  ['', 'json', false],
  ['*/*', 'json', true],
  ['text/*', 'json', false],
  ['application/json', 'json', true],
  ['text/event-stream', 'events', false],
  ['Text/Event-Stream; charset=utf-8', 'events', false],
  ['text/event-stream;q=0', 'json', false],
  ['text/event-stream; q=0.0, */*', 'json', true],
  ['text/event-stream, */*', 'events', true],
  ['*/*, text/event-stream;q=0.1', 'events', true],
  ['application/json, text/event-stream', 'json', true],
  ['text/event-stream, application/json;q=0.9', 'events', true],
  ['text/event-stream;q=0.5,application/json;q=0.9', 'json', true],
  ['text/event-stream, application/json;q=0, */*', 'events', false],
  ['text/event-stream;q=much', 'events', false],
  ['text/event-streams', 'json', false],
])('%p means %s', (accept, wants, takesJson) => {
  expect(callAnswer(accept)).toEqual({ wants, takesJson })
})
