import { afterAll, afterEach, expect, test } from '@jest/globals'
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { parse } from 'yaml'
import { filesOfUpload } from '../support/firebase-upload.mjs'
import { FullCheckout } from '../support/full-checkout.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** The checkout of all tests. */
const checkout = new FullCheckout()
afterAll(() => checkout[Symbol.asyncDispose]())

/** What was there before a test has written files, by their paths. */
const before = new Map<string, string | undefined>()
afterEach(() => {
  for (const [path, text] of before) {
    rmSync(join(checkout.root, path))
    if (text !== undefined) writeFileSync(join(checkout.root, path), text)
  }
  before.clear()
})

async function deploy(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  checkout.run('deploy.mjs', { args, env })
  return { code: await checkout.ended(), said: checkout.output }
}

function write(path: string, text: string): void {
  const whole = join(checkout.root, path)
  if (!before.has(path)) before.set(path, existsSync(whole) ? readFileSync(whole, 'utf8') : undefined)
  mkdirSync(dirname(whole), { recursive: true })
  writeFileSync(whole, text)
}

/** The commands that it says it runs, in their order. */
function commandsIn(said: string): readonly string[] {
  const [, each = ''] = said.split('Each time, which this runs in this order')
  return each.match(/^ {2}\S.*$/gm)?.map((line) => line.trim()) ?? []
}

test('a dry run says both deployments, the runner first, and who may call it', async () => {
  const { code, said } = await deploy(['--dry-run', '--project', 'my-project'])
  expect(code).toBe(0)
  expect(said).toMatch(
    /^runner {5}toolrack-runner on Cloud Run in us-central1, .*\n {11}as toolrack-runner@my-project\./m,
  )
  expect(said).toMatch(/^functions {2}jobs in us-central1, 1024 MiB/m)
  expect(said).toMatch(/TOOLRACK_REGION=us-central1 RUNNER_SERVICE=toolrack-runner RUNNER_REGION=$/m)
  const there = '--project my-project --region us-central1'
  const account = 'serviceAccount:<project number>-compute@developer.gserviceaccount.com'
  expect(commandsIn(said)).toEqual([
    expect.stringMatching(
      /^gcloud builds submit python-runner --tag us-central1-docker\.pkg\.dev\/my-project\/toolrack\/toolrack-runner:\d+\.\d+\.\d+-[0-9a-f]{12} --project my-project$/,
    ),
    `gcloud run services replace .toolrack/runner-service.yaml ${there}`,
    `gcloud run services add-iam-policy-binding toolrack-runner ${there} --role roles/run.invoker --member ${account}`,
    `gcloud run services add-iam-policy-binding toolrack-runner ${there} --role roles/run.viewer --member ${account}`,
    'npm run build',
    'node_modules/.bin/firebase deploy --project my-project --only firestore',
    'node_modules/.bin/firebase deploy --project my-project --only functions:toolrack --force',
    'node_modules/.bin/firebase deploy --project my-project --only hosting',
  ])
})

/** What is said of a deployment without a runner. */
function expectNoRunner(said: string): void {
  expect(said).toMatch(/^runner {5}none: /m)
  expect(commandsIn(said).map((command) => command.split(' ')[0])).toEqual([
    'npm',
    'node_modules/.bin/firebase',
    'node_modules/.bin/firebase',
    'node_modules/.bin/firebase',
  ])
}

test('one setting moves functions and runner into another region', async () => {
  write('functions/.env.my-project', 'TOOLRACK_REGION=europe-west1\n')
  const { code, said } = await deploy(['--dry-run', '--project', 'my-project'])
  expect(code).toBe(0)
  expect(said).toMatch(/^functions {2}jobs in europe-west1, /m)
  expect(said).toMatch(/^runner {5}toolrack-runner on Cloud Run in europe-west1, /m)
  expect(said).not.toContain('us-central1')
})

test('a text that is no region is named before anything is deployed', async () => {
  write('functions/.env.my-project', 'TOOLRACK_REGION=europe\n')
  const { code, said } = await deploy(['--dry-run', '--project', 'my-project'])
  expect([code, said]).toEqual([
    1,
    expect.stringContaining(
      'TOOLRACK_REGION, in functions/.env or functions/.env.my-project, must be a region such as us-central1.',
    ),
  ])
})

test('with an empty RUNNER_SERVICE no runner is deployed, and a dry run names exactly the files that a plain firebase deploy uploads: no source, source map, secret or log', async () => {
  for (const name of [
    '.secret.local',
    '.env.local',
    '.env.my-project',
    'firebase-debug.log',
    'dist/old.js.map',
  ])
    write(`functions/${name}`, 'RUNNER_SERVICE=\n')
  write('hosting/.hidden', '')
  const { code, said } = await deploy(['--dry-run', '--project', 'my-project'])
  expect(code).toBe(0)
  expectNoRunner(said)
  const [, list = ''] = /before compression:\n((?: {13}\S+ {2}\d+ KiB\n)+)/.exec(said) ?? []
  const [, hosted = ''] = /^hosting .*\n {11}and (.*)$/m.exec(said) ?? []
  const named = Array.from(list.matchAll(/^ {13}(\S+)/gm), ([, name = '']) => name)
  const { functions, hosting } = await filesOfUpload(checkout.root)
  expect(named.toSorted()).toEqual(functions)
  expect(hosted.split(', ')).toEqual(hosting.map((name) => `hosting/${name}`))

  const built = ['argument-worker', 'declaration', 'index', 'local', 'schema-worker', 'validate-arguments']
  expect(functions.filter((name) => !name.startsWith('workflows/'))).toEqual(
    [
      '.env',
      '.env.my-project',
      ...[...built.map((name) => `${name}.js`), 'file-layer.json'].map((name) => `dist/${name}`),
      'package-lock.json',
      'package.json',
    ].toSorted(),
  )
  expect(hosting).toEqual(['404.html', 'robots.txt'])
})

test('the project is the one that firebase use has chosen, and never one that only emulators know; with RUNNER_URL in its parameters no runner is deployed', async () => {
  const none = await deploy([])
  expect([none.code, none.said]).toEqual([1, expect.stringMatching(/^No project is chosen: /)])
  write('.firebaserc', '{"projects":{"default":"my-project"}}')
  write('functions/.env.my-project', 'RUNNER_URL=https://runner.example\n')
  const { code, said } = await deploy(['--dry-run'])
  expect([code, said]).toEqual([0, expect.stringMatching(/^To project my-project$/m)])
  expectNoRunner(said)
})

test('a runner that is not deployed keeps the functions from being deployed, and what would be deployed is whole', async () => {
  using folder = temporaryFolder()
  const gcloud = join(folder.path, 'gcloud')
  // It knows the project, builds, and is then not allowed to deploy.
  writeFileSync(
    gcloud,
    '#!/bin/sh\necho "asked: $*" >&2\n[ "$1" = projects ] && echo 123456\n[ "$2" != services ] || exit 3\n',
  )
  chmodSync(gcloud, 0o755)
  const env = { PATH: [folder.path, process.env['PATH']].join(delimiter) }
  const { code, said } = await deploy(['--project', 'my-project'], env)
  expect(code).toBe(3)
  expect(said).toContain('serviceAccount:123456-compute@developer.gserviceaccount.com')
  expect(said.match(/^asked: run .*$/gm)).toEqual([expect.stringMatching(/services replace/)])
  expect(said).toMatch(/The runner was not deployed\. The steps after it were not run\.\n$/)

  const text = readFileSync(join(checkout.root, '.toolrack/runner-service.yaml'), 'utf8')
  expect(text).not.toMatch(/PROJECT_ID|IMAGE/)
  const [, image] = /builds submit .*--tag (\S+)/.exec(said) ?? []
  expect(parse(text)).toMatchObject({
    metadata: { name: 'toolrack-runner' },
    spec: {
      template: {
        spec: {
          serviceAccountName: 'toolrack-runner@my-project.iam.gserviceaccount.com',
          containers: [{ image }],
        },
      },
    },
  })
})

test('without gcloud it says so, and what to do instead', async () => {
  const { code, said } = await deploy(['--project', 'my-project'], { PATH: '' })
  expect([code, said]).toEqual([
    1,
    expect.stringMatching(/^gcloud was not found: .* leave RUNNER_SERVICE empty/m),
  ])
})

test('if gcloud cannot read the project, it says what gcloud says, and what to do', async () => {
  using folder = temporaryFolder()
  const gcloud = join(folder.path, 'gcloud')
  writeFileSync(
    gcloud,
    '#!/bin/sh\necho "ERROR: You have no account." >&2\necho "Or select one." >&2\nexit 1\n',
  )
  chmodSync(gcloud, 0o755)
  const env = { PATH: [folder.path, process.env['PATH']].join(delimiter) }
  const { code, said } = await deploy(['--project', 'my-project'], env)
  expect([code, said]).toEqual([
    1,
    expect.stringMatching(
      /^gcloud cannot read .*gcloud auth login.*\nERROR: You have no account\.\nOr select one\.$/m,
    ),
  ])
})
