import { expect, test } from '@jest/globals'
import { readFileSync } from 'node:fs'
import { readConfig } from '../../../../functions/src/hosts/config.ts'

const RUNNER = new URL('../../../../python-runner/toolrack_runner/', import.meta.url)

/** The first group of the pattern in a file of the runner. */
function inRunner(file: string, pattern: RegExp): string | undefined {
  return pattern.exec(readFileSync(new URL(file, RUNNER), 'utf8'))?.[1]
}

test('the defaults that --print-config shows for the runner are those of the runner', () => {
  const { inForce } = readConfig({})
  const shown = (name: string): string => String(inForce.get(name)?.value)
  const ofRunner = {
    TOOLRACK_RUNNER_SLOTS: inRunner('server/settings.py', /^SLOTS = (\d+)$/m),
    TOOLRACK_RUNNER_POOL_MB: inRunner('server/settings.py', /"TOOLRACK_RUNNER_POOL_MB", (\d+),/),
    TOOLRACK_RUNNER_MIN_ISOLATION: inRunner('server/settings.py', /"TOOLRACK_RUNNER_MIN_ISOLATION", "(\w+)"/),
    TOOLRACK_PACKAGES_MB: inRunner('server/package_settings.py', /^SIZE_MB = (\d+)$/m),
    TOOLRACK_PACKAGES_FILES: inRunner('server/package_settings.py', /^FILES = ([\d_]+)$/m)?.replace('_', ''),
    TOOLRACK_PACKAGES_SECONDS: inRunner('server/package_settings.py', /^SECONDS = (\d+)$/m),
    TOOLRACK_PACKAGES_COUNT: inRunner('server/package_settings.py', /^COUNT = (\d+)$/m),
    TOOLRACK_CALL_MEMORY_MB: inRunner('wire/zygote_messages.py', /memory_bytes: int = (\d+) << 20/),
  }
  for (const [name, value] of Object.entries(ofRunner)) expect([name, shown(name)]).toEqual([name, value])
})

test('no deadline that the operator can choose is longer than the runner accepts', () => {
  const most = Number(inRunner('limits.py', /^TIMEOUT_SECONDS_MAX = (\d[\d_]*)$/m)?.replace('_', ''))
  expect([faultsOf(most), faultsOf(most + 1).length]).toEqual([[], 1])
})

function faultsOf(seconds: number) {
  return readConfig({ TOOLRACK_CALL_TIMEOUT_SECONDS: String(seconds) }).faults
}
