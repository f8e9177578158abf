import { expect, jest } from '@jest/globals'
import { sharedServerWithRunner } from '../support/modules.ts'
import { withPython } from '../support/runner-environment.ts'
import { leaked } from '../support/secret-leaks.ts'

/** A thousand calls, on a busy machine. */
jest.setTimeout(240_000)

const started = sharedServerWithRunner({ env: { TOOLRACK_GRANTS: 'accept' } })

withPython(
  'of 1,000 stored secrets that tools give away in every form and way, none is found anywhere',
  async () => {
    expect(await leaked(await started(), 1_000, 29)).toEqual([])
  },
)
