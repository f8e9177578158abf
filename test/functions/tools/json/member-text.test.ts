import { expect, test } from '@jest/globals'
import { memberText } from '../../../../functions/src/tools/json/member-text.ts'

test.each([
  ['{"value":9007199254740993}', '9007199254740993'],
  ['{"a":1, "value" : [1.0, {"value": "}"}] , "b":2}', '[1.0, {"value": "}"}]'],
  ['{"value":"a\\"b,}\\\\","b":1}', '"a\\"b,}\\\\"'],
  ['{"a":{"value":1},"value":{"log":{}},"log":{"text":"\\"value\\":2"}}', '{"log":{}}'],
  ['{"v\\u0061lue":1}', '1'],
  ['{"value":1,"value":2.0}', '2.0'],
  ['{\n  "value": null\n}', 'null'],
  ['{}', undefined],
  ['{"a":"value"}', undefined],
  ['{"a":["value",":",1]}', undefined],
])('the value in %j stands there as %j', (text, expected) => {
  expect(memberText(text, 'value')).toBe(expected)
  const parsed = JSON.parse(text) as { readonly value?: unknown }
  expect(expected === undefined ? undefined : JSON.parse(expected)).toEqual(parsed.value)
})
