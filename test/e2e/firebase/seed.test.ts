import { expect, test } from '@jest/globals'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describeOnEmulator, EMULATOR, newProject } from '../../support/firestore-emulator.ts'
import { writeOriginalFiles } from '../../support/original-shapes.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Each run starts a process that loads Firestore's client. */

const CLI = fileURLToPath(new URL('../../../functions/src/hosts/cloud/seed-cli.ts', import.meta.url))

type Outcome = { readonly code: number; readonly stdout: string; readonly stderr: string }

/** `npm run seed` as its script calls it. */
async function seed(folder: string, project: string): Promise<Outcome> {
  const env = { FIRESTORE_EMULATOR_HOST: EMULATOR, GOOGLE_CLOUD_PROJECT: project }
  const run = promisify(execFile)(process.execPath, ['--disable-warning=ExperimentalWarning', CLI, folder], {
    env,
  })
  return run.then(
    (told) => ({ code: 0, ...told }),
    (error: Outcome) => error,
  )
}

function file(
  ...tools: { readonly name: string; readonly description?: string; readonly parameters?: unknown }[]
) {
  return JSON.stringify({
    family: 'seeds',
    tools: tools.map((tool) => ({ type: 'function', function: tool })),
  })
}

describeOnEmulator('npm run seed', () => {
  test('writes what is new or different into the global layer, and says what', async () => {
    using folder = temporaryFolder()
    const project = newProject()
    const path = join(folder.path, 'seeds.json')
    writeFileSync(path, file({ name: 'A', description: 'one' }, { name: 'B', description: 'one' }))
    const target = `in the global layer of ${project} on the emulator at ${EMULATOR}.\n`
    expect(await seed(folder.path, project)).toMatchObject({
      code: 0,
      stdout: `created A\ncreated B\n2 of 2 definitions changed ${target}`,
    })
    writeFileSync(path, file({ name: 'A', description: 'two' }, { name: 'B', description: 'one' }))
    const stdout = `updated A\n1 of 2 definitions changed ${target}`
    expect(await seed(folder.path, project)).toMatchObject({ code: 0, stdout })
    expect(await seed(folder.path, project)).toMatchObject({
      code: 0,
      stdout: `0 of 2 definitions changed ${target}`,
    })
  })

  test('writes a folder in all shapes of the original engine as it is', async () => {
    using folder = temporaryFolder()
    const project = newProject()
    const { length } = writeOriginalFiles(folder.path)
    const seeded = await seed(folder.path, project)
    expect([seeded.code, seeded.stderr]).toEqual([0, ''])
    expect(seeded.stdout).toContain(`\n${length} of ${length} definitions changed `)
  })

  test('fails for a folder in which nothing can be served', async () => {
    using folder = temporaryFolder()
    const refused = await seed(folder.path, newProject())
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toMatch(/^\*\.json: no definition can be served: .*\nNothing was written: /)
  })

  test('writes nothing of a folder with a fault in it', async () => {
    using folder = temporaryFolder()
    const project = newProject()
    const path = join(folder.path, 'seeds.json')
    writeFileSync(path, file({ name: 'A' }, { name: 'B', parameters: 4 }))
    const refused = await seed(folder.path, project)
    expect([refused.code, refused.stdout]).toEqual([1, ''])
    expect(refused.stderr).toMatch(
      /^seeds\.json#\/tools\/1\/function\/parameters: .*\nNothing was written: correct the 1 /,
    )
    writeFileSync(path, file({ name: 'A' }))
    expect((await seed(folder.path, project)).stdout).toMatch(/^created A\n/)
  })
})
