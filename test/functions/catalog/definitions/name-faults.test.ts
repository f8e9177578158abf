import { expect, test } from '@jest/globals'
import type { ToolDefinition } from '@toolrack/contract'
import { nameFaults, sealedFault } from '../../../../functions/src/catalog/definitions/definition-fault.ts'
import { catalogView } from '../../../support/catalog-view.ts'

const define = (name: string, sealed?: boolean): ToolDefinition => ({
  type: 'function',
  function: { name, description: '', parameters: {} },
  ...(sealed !== undefined && { sealed }),
})

const view = catalogView({
  file: [define('READ_FILE', true), define('update_task')],
  global: [define('search', true), define('weather')],
  user: [define('mine', true)],
})

test.each(['READ_FILE', 'update_task', 'brand_new', 'a:b'])(
  'nothing is wrong with the name %s itself',
  (name) => {
    expect(nameFaults(view, name, '/name')).toEqual([])
  },
)

test.each([
  ['Cyrillic', 'RE\u0410D_FILE'],
  ['several Cyrillic letters', 'R\u0415\u0410D_FILE'],
  ['full-width', '\uFF32EAD_FILE'],
  ['zero-width', 'READ\u200B_FILE'],
  ['a direction mark', 'READ_FILE\u202E'],
  ['a direction mark first', '\u202EREAD_FILE'],
  ['a byte order mark', 'READ_FILE\uFEFF'],
  ['a soft hyphen', 'RE\u00ADAD_FILE'],
  ['mathematical letters', '\u{1D5B1}\u{1D5A4}\u{1D5A0}\u{1D5A3}_FILE'],
])(
  'a name that reads like a sealed tool is refused as sealed, with the layer of the other: %s',
  (_title, name) => {
    expect(nameFaults(view, name, '/function/name')).toEqual([
      {
        reason: 'NAME_SEALED',
        pointer: '/function/name',
        message: expect.stringMatching(/sealed by the file layer/),
        layer: 'file',
      },
    ])
  },
)

test('a name that reads like an open tool is not allowed, and told whose it resembles', () => {
  expect(nameFaults(view, 'w\u0435ather', '/name')).toEqual([
    {
      reason: 'NAME_INVALID',
      pointer: '/name',
      message: expect.stringMatching(/U\+0435.*reads like weather of the global layer$/),
      layer: 'global',
    },
  ])
})

test.each(['', 'a b', '__x__', 'constructor', '\u043d\u0435\u0442'])(
  '%j is not allowed, and resembles nothing',
  (name) => {
    expect(nameFaults(view, name, '/name')).toEqual([
      { reason: 'NAME_INVALID', pointer: '/name', message: expect.any(String) },
    ])
  },
)

test.each([
  ['user', 'READ_FILE', 'file'],
  ['global', 'READ_FILE', 'file'],
  ['user', 'search', 'global'],
] as const)('the %s layer may not define %s, which the %s layer has sealed', (layer, name, sealing) => {
  expect(sealedFault(view, layer, name)).toMatchObject({ reason: 'NAME_SEALED', layer: sealing })
})

test.each([
  ['user', 'update_task'],
  ['user', 'weather'],
  ['global', 'search'],
  ['global', 'mine'],
  ['user', 'mine'],
  ['user', 'brand_new'],
] as const)('the %s layer may define %s: no layer below has sealed it', (layer, name) => {
  expect(sealedFault(view, layer, name)).toBeUndefined()
})
