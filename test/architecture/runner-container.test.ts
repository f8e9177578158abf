import { expect, test } from '@jest/globals'
import { existsSync, readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { VARIABLES } from '../../functions/src/hosts/config.ts'
import { environmentOf, parseDockerfile, saidBy } from '../support/dockerfile.ts'
import { ROOT } from '../support/source-tree.ts'

type Annotations = Readonly<Record<string, string>>
type Service = {
  readonly metadata: { readonly annotations: Annotations }
  readonly spec: {
    readonly template: {
      readonly metadata: { readonly annotations: Annotations }
      readonly spec: {
        readonly serviceAccountName: string
        readonly containerConcurrency: number
        readonly timeoutSeconds: number
        readonly containers: readonly Container[]
      }
    }
  }
}
type Container = {
  readonly ports: readonly { readonly containerPort: number }[]
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly resources: { readonly limits: { readonly cpu: string; readonly memory: string } }
  readonly startupProbe: { readonly httpGet: { readonly path: string; readonly port: number } }
}

const read = (path: string): string => readFileSync(new URL(path, ROOT), 'utf8')
const { head, stages } = parseDockerfile(read('python-runner/Dockerfile'))
const [packages = [], image = []] = stages
const service = parse(read('python-runner/service.yaml')) as Service
const { metadata, spec } = service.spec.template
const [container] = spec.containers
const settings = Object.fromEntries(container?.env.map(({ name, value }) => [name, value]) ?? [])

/** What a list that leaves out all else lets through. */
function takenBy(name: string): readonly string[] {
  return [...read(`python-runner/${name}`).matchAll(/^!\/?(\S+)$/gm)].map(([, path = '']) => path).toSorted()
}

test('the image is built in two stages on one exact base of Python 3.13', () => {
  expect(saidBy('ARG', head)).toEqual([
    expect.stringMatching(/^BASE=python:3\.13\.\d+-slim-bookworm(?:@sha256:[0-9a-f]{64})?$/),
  ])
  expect(stages.map((stage) => saidBy('FROM', stage))).toEqual([['${BASE} AS packages'], ['${BASE}']])
})

test('the packages are exactly those of the locks, by their hashes, and nothing is built', () => {
  // The operator's lock may be missing, and then the pattern matches nothing.
  expect(saidBy('COPY', packages)).toEqual(['requirements.txt packages.tx[t] ./'])
  const [install] = saidBy('RUN', packages)
  for (const flag of ['--require-hashes', '--only-binary :all:', '-r requirements.txt -r packages.txt'])
    expect(install).toContain(flag)
})

test('the image holds the packages, the runner outside of them, both compiled, and nothing else', () => {
  expect(saidBy('COPY', image)).toEqual([
    '--from=packages /opt/venv /opt/venv',
    '__main__.py /runner/',
    'toolrack_runner /runner/toolrack_runner',
  ])
  for (const [stage, folder] of [
    [packages, '/opt/venv/lib'],
    [image, '/runner'],
  ] as const)
    expect(saidBy('RUN', stage).join('\n')).toMatch(new RegExp(`compileall .*${folder}$`))
  const copied = takenBy('.dockerignore')
  const own = ['__main__.py', 'requirements.txt', 'toolrack_runner']
  expect(copied).toEqual([...own, 'packages.txt'].toSorted())
  expect(own.filter((path) => !existsSync(new URL(`python-runner/${path}`, ROOT)))).toEqual([])
})

test('what is uploaded to be built is what the image is made of, and how', () => {
  expect(takenBy('.gcloudignore')).toEqual([...takenBy('.dockerignore'), 'Dockerfile'].toSorted())
})

test('the runner starts as the server starts it, without a shell, and as root, who alone can change to the accounts of calls', () => {
  const [command = '', ...more] = saidBy('CMD', image)
  expect(JSON.parse(command)).toEqual(['/opt/venv/bin/python', '-I', '-u', '-B', '/runner'])
  expect([more, saidBy('ENTRYPOINT', image), saidBy('USER', image)]).toEqual([[], [], ['0:0']])
  expect(environmentOf(image)).toMatchObject({ PYTHONUNBUFFERED: '1', PYTHONDONTWRITEBYTECODE: '1' })
})

test('the image does not pass itself off as Cloud Run, which would leave the runner without a guard', () => {
  expect(Object.keys(environmentOf(image))).not.toContain('K_SERVICE')
  expect(Object.keys(settings)).not.toContain('K_SERVICE')
})

test('image, service and probe mean the same port', () => {
  const { PORT, HOST } = environmentOf(image)
  const ports = container?.ports.map(({ containerPort }) => containerPort)
  expect([HOST, saidBy('EXPOSE', image), ports]).toEqual(['0.0.0.0', [PORT], [Number(PORT)]])
  expect(container?.startupProbe.httpGet).toEqual({ path: '/health', port: Number(PORT) })
})

test('an instance takes more requests than one user may have there, and has the memory for those that run', () => {
  const [slots, ofUser] = ['SLOTS', 'USER_SLOTS'].map((name) => Number(settings[`TOOLRACK_RUNNER_${name}`]))
  expect(ofUser).toBe(Number(slots) / 2)
  // Of one user's, twice as many wait as run.
  expect(spec.containerConcurrency).toBe(2 * Number(slots))
  expect(spec.containerConcurrency).toBeGreaterThan(3 * Number(ofUser))
  const [, gibibytes] = /^(\d+)Gi$/.exec(container?.resources.limits.memory ?? '') ?? []
  const ofCalls = Number(slots) * 256
  const ofChecks = (Number(slots) / 2) * 256
  const ofPool = Number(settings['TOOLRACK_RUNNER_POOL_MB'])
  expect(Number(gibibytes) * 1_024).toBeGreaterThanOrEqual(ofCalls + ofChecks + ofPool + 512)
  // The platform's own rule for so much memory.
  expect(Number(container?.resources.limits.cpu)).toBeGreaterThanOrEqual(2)
})

test('the settings of the service are known ones, and run no user code below L2', () => {
  const ofRunner = VARIABLES.filter((name) => name.startsWith('TOOLRACK_RUNNER_'))
  const names = [...ofRunner, 'TOOLRACK_PACKAGES']
  expect(Object.keys(settings).toSorted()).toEqual(names.toSorted())
  expect(settings['TOOLRACK_RUNNER_MIN_ISOLATION']).toBe('L2')
  expect(settings['TOOLRACK_PACKAGES']).toBe('off')
})

test('a call may last as long as its longest deadline behind Hosting', () => {
  expect(spec.timeoutSeconds).toBeGreaterThan(50)
})

test('it has a kernel of its own, its processor between requests, and is reached by whom IAM lets in', () => {
  expect(metadata.annotations).toMatchObject({
    'run.googleapis.com/execution-environment': 'gen2',
    'run.googleapis.com/cpu-throttling': 'false',
  })
  // Nothing that would let in who bears no token: no binding for everybody, and no invoker check switched off.
  expect(service.metadata.annotations).toEqual({ 'run.googleapis.com/ingress': 'all' })
})

test('it has an account of its own, so that no role of the default one reaches it', () => {
  expect(spec.serviceAccountName).toMatch(/^toolrack-runner@/)
})
