import { expect, test } from '@jest/globals'
import { admitModule } from '../../../../../functions/src/catalog/definitions/admit-module.ts'
import type { AdmittedModule } from '../../../../../functions/src/catalog/definitions/admit-module.ts'
import { EXIT } from '../../../../../functions/src/hosts/local/start-error.ts'
import { toolNamed } from '../../../../../functions/src/hosts/local/author/tool-named.ts'
import { moduleOf } from '../../../../support/modules.ts'
import { readingRunner } from '../../../../support/reading-runner.ts'

const compiler = { compile: () => Promise.resolve({ faults: [], unenforced: [] }) }

function admitted(...functions: readonly string[]): Promise<AdmittedModule> {
  const source = Buffer.from(moduleOf('weather', ...functions))
  return admitModule({ name: 'weather', source, tenant: 'ann' }, { runner: readingRunner(), compiler })
}
const weather = await admitted('get_report', 'get_temperatures')
const nameOf = (module: AdmittedModule, wanted?: string): string =>
  toolNamed(module, wanted).definition.function.name

test('a tool is found by its full name and by its short one, and the only tool without a name', async () => {
  for (const wanted of ['weather:get_report', 'get_report'])
    expect(nameOf(weather, wanted)).toBe('weather:get_report')
  expect(nameOf(await admitted('one'))).toBe('weather:one')
})

test.each([
  [undefined, 'Name the tool to call: weather.py has weather:get_report, weather:get_temperatures.'],
  ['get_reprot', "weather.py has no tool 'get_reprot'. Did you mean 'get_report'?"],
  ['other', "weather.py has no tool 'other'. It has weather:get_report, weather:get_temperatures."],
])(
  'a name that leads to no tool is one sentence and the exit code of a wrong command: %s',
  (wanted, sentence) => {
    expect(() => toolNamed(weather, wanted)).toThrow(
      expect.objectContaining({ message: sentence, exitCode: EXIT.usage }),
    )
  },
)
