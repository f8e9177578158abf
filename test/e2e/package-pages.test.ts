import { expect } from '@jest/globals'
import { follow, read } from '../support/follow-page.ts'
import { sharedServerWithRunner } from '../support/modules.ts'
import { PACKAGE_SECTIONS, sectionsOf } from '../support/page-commands.ts'
import { withPython } from '../support/runner-environment.ts'

const PAGE = 'docs/how-to/write-a-tool.md'

const started = sharedServerWithRunner()

withPython(`${PAGE}: each command that needs an index prints what is shown`, async () => {
  const sections = sectionsOf(read(PAGE), PACKAGE_SECTIONS, 'only')
  expect(await follow(PAGE, await started(), {}, sections)).toHaveLength(5)
})
