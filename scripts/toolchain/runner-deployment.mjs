import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { deployParameters } from './deploy-parameters.mjs'

/**
 * How the runner that a project's functions look up gets to Cloud Run: `{ once, each, said, write }`, the commands for a
 * new project and of each deployment, what they do as text, and what writes the file that they name. Undefined where the
 * functions' parameters name no service, or name by RUNNER_URL a runner that is elsewhere. `accountOf` finds the functions'.
 */
export async function runnerDeployment(root, project, accountOf) {
  const { RUNNER_URL: url, RUNNER_SERVICE: name, RUNNER_REGION: region } = deployParameters(root, project)
  if (url || !name || !region) return undefined
  const account = accountOf()
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const image = `${region}-docker.pkg.dev/${project}/toolrack/${name}:${version}-${sourceDigest(root)}`
  const text = readFileSync(join(root, 'python-runner/service.yaml'), 'utf8')
  const manifest = filledIn(text, { project, name, image })
  const path = join(root, '.toolrack/runner-service.yaml')
  const there = `--project ${project} --region ${region}`
  const grant = (role) =>
    `gcloud run services add-iam-policy-binding ${name} ${there} --role ${role} --member serviceAccount:${account}`
  return {
    once: [
      `gcloud services enable run.googleapis.com cloudbuild.googleapis.com artifactregistry.googleapis.com --project ${project}`,
      `gcloud artifacts repositories create toolrack --repository-format docker --location ${region} --project ${project}`,
      `gcloud iam service-accounts create toolrack-runner --project ${project}`,
    ],
    each: [
      `gcloud builds submit python-runner --tag ${image} --project ${project}`,
      `gcloud run services replace .toolrack/runner-service.yaml ${there}`,
      grant('roles/run.invoker'),
      grant('roles/run.viewer'),
    ],
    said: await describe(manifest, { region, account }),
    write() {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      writeFileSync(path, manifest)
    },
  }
}

/** What the image is made of. A tag of its own for each: with the same, Cloud Run would see nothing new to run. */
function sourceDigest(root) {
  const folder = join(root, 'python-runner')
  const hash = createHash('sha256')
  const modules = readdirSync(join(folder, 'toolrack_runner'), { recursive: true })
    .filter((name) => name.endsWith('.py'))
    .map((name) => join('toolrack_runner', name))
  for (const name of ['Dockerfile', 'requirements.txt', '__main__.py', ...modules.toSorted()])
    hash.update(`${name}\0`).update(readFileSync(join(folder, name)))
  return hash.digest('hex').slice(0, 12)
}

function filledIn(text, { project, name, image }) {
  return text
    .replaceAll(/^#.*\n/gm, '')
    .replace('name: toolrack-runner', `name: ${name}`)
    .replace('PROJECT_ID', project)
    .replace('image: IMAGE', `image: ${image}`)
}

async function describe(manifest, { region, account }) {
  const { parse } = await import('yaml')
  const { metadata, spec } = parse(manifest)
  const { annotations } = spec.template.metadata
  const { serviceAccountName, containerConcurrency, containers } = spec.template.spec
  const [{ image, env, resources }] = containers
  const instances = annotations['autoscaling.knative.dev/maxScale']
  const settings = env.map(({ name, value }) => `${name}=${value}`)
  return [
    `runner     ${metadata.name} on Cloud Run in ${region}, ${resources.limits.cpu} processors, ${resources.limits.memory}, ${containerConcurrency} calls at once, at most ${instances} instances`,
    `           as ${serviceAccountName}, which has no role`,
    `           from python-runner/, built as ${image}`,
    `           with ${settings.join(' ')}`,
    `           ingress ${metadata.annotations['run.googleapis.com/ingress']}; called by ${account} alone, which may look its address up`,
  ]
}
