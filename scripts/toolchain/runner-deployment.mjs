import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './checkout.mjs'
import { SetupError } from './setup-error.mjs'

/** The form of a region. functions/src/hosts/config.ts has the same rule. */
const REGION = /^[a-z]+-[a-z]+\d{1,2}$/

/**
 * Plans the deployment of a project's runner to Cloud Run. `once` has the commands for a new project, and `each` has the commands of
 * every deployment. `plan` describes the result. `write()` writes the file that the commands read. Returns undefined if the
 * functions' parameters name no service, or name another runner with RUNNER_URL.
 */
export async function runnerDeployment(project, { isDry }) {
  const { RUNNER_URL: url, RUNNER_SERVICE: name, TOOLRACK_REGION, RUNNER_REGION } = deployParameters(project)
  for (const [variable, region] of Object.entries({ TOOLRACK_REGION, RUNNER_REGION }))
    if (region && !REGION.test(region))
      throw new SetupError(
        `${variable}, in functions/.env or functions/.env.${project}, must be a region such as us-central1.`,
      )
  const region = RUNNER_REGION || TOOLRACK_REGION
  if (url || !name || !region) return undefined
  // Functions run as this account unless another one is configured. A dry run does not look up the project number.
  const account = `${isDry ? '<project number>' : projectNumber(project)}-compute@developer.gserviceaccount.com`
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const image = `${region}-docker.pkg.dev/${project}/toolrack/${name}:${version}-${sourceDigest()}`
  const manifest = readFileSync(join(root, 'python-runner/service.yaml'), 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replace('name: toolrack-runner', `name: ${name}`)
    .replace('PROJECT_ID', project)
    .replace('image: IMAGE', `image: ${image}`)
  const target = `--project ${project} --region ${region}`
  const grant = (role) =>
    `gcloud run services add-iam-policy-binding ${name} ${target} --role ${role} --member serviceAccount:${account}`
  return {
    once: [
      `gcloud services enable run.googleapis.com cloudbuild.googleapis.com artifactregistry.googleapis.com --project ${project}`,
      `gcloud artifacts repositories create toolrack --repository-format docker --location ${region} --project ${project}`,
      `gcloud iam service-accounts create toolrack-runner --project ${project}`,
    ],
    each: [
      `gcloud builds submit python-runner --tag ${image} --project ${project}`,
      `gcloud run services replace .toolrack/runner-service.yaml ${target}`,
      grant('roles/run.invoker'),
      grant('roles/run.viewer'),
    ],
    plan: await describe(manifest, { region, account }),
    write() {
      mkdirSync(join(root, '.toolrack'), { recursive: true, mode: 0o700 })
      writeFileSync(join(root, '.toolrack/runner-service.yaml'), manifest)
    },
  }
}

/** The files with the functions' parameters. A later file overrides an earlier file. */
export function parameterFiles(project) {
  return ['functions/.env', `functions/.env.${project}`].map((name) => {
    const path = join(root, name)
    return { name, path, isHere: existsSync(path) }
  })
}

/** The functions' parameters of a deployment to a project. */
export function deployParameters(project) {
  const files = parameterFiles(project).filter(({ isHere }) => isHere)
  const settings = files.flatMap(({ path }) => [...readFileSync(path, 'utf8').matchAll(/^([A-Z_]+)=(.*)$/gm)])
  return Object.fromEntries(
    settings.map(([, name, value]) => [name, value.trim().replace(/^(['"])(.*)\1$/, '$2')]),
  )
}

function projectNumber(project) {
  const args = ['projects', 'describe', project, '--format', 'value(projectNumber)']
  const { status, stdout, stderr } = spawnSync('gcloud', args, { encoding: 'utf8' })
  if (status === null)
    throw new SetupError(
      'gcloud was not found: the runner is deployed with it. Install the Google Cloud SDK, or leave RUNNER_SERVICE empty in functions/.env.<project id>.',
    )
  const number = stdout.trim()
  if (status !== 0 || !/^\d+$/.test(number))
    throw new SetupError(
      `gcloud cannot read the project ${project}. Sign in with gcloud auth login, or correct the id of the project. gcloud says:\n${stderr.trim()}`,
    )
  return number
}

/** A digest of the source, for the image's tag. If a new image had the tag of the old one, Cloud Run would keep the old image. */
function sourceDigest() {
  const folder = join(root, 'python-runner')
  const modules = readdirSync(join(folder, 'toolrack_runner'), { recursive: true })
    .filter((name) => name.endsWith('.py'))
    .map((name) => join('toolrack_runner', name))
  const hash = createHash('sha256')
  const packages = existsSync(join(folder, 'packages.txt')) ? ['packages.txt'] : []
  for (const name of ['Dockerfile', 'requirements.txt', ...packages, '__main__.py', ...modules.toSorted()])
    hash.update(`${name}\0`).update(readFileSync(join(folder, name)))
  return hash.digest('hex').slice(0, 12)
}

async function describe(manifest, { region, account }) {
  const { parse } = await import('yaml')
  const { metadata, spec } = parse(manifest)
  const instances = spec.template.metadata.annotations['autoscaling.knative.dev/maxScale']
  const { serviceAccountName, containerConcurrency, containers } = spec.template.spec
  const [{ image, env, resources }] = containers
  const settings = env.map(({ name, value }) => `${name}=${value}`)
  return [
    `runner     ${metadata.name} on Cloud Run in ${region}, ${resources.limits.cpu} processors, ${resources.limits.memory}, ${containerConcurrency} calls at once, at most ${instances} instances`,
    `           as ${serviceAccountName}, which has no role`,
    `           from python-runner/, built as ${image}`,
    `           with ${settings.join(' ')}`,
    `           ingress ${metadata.annotations['run.googleapis.com/ingress']}; called only by ${account}, which may look up its address`,
  ]
}
