import { spawnSync } from 'node:child_process'
import { SetupFailure } from './setup-failure.mjs'

/** The service account that functions run as where nobody chose another; a dry run asks nobody for the project's number. */
export function functionsAccount(project, { isDry }) {
  const number = isDry ? '<project number>' : projectNumber(project)
  return `${number}-compute@developer.gserviceaccount.com`
}

function projectNumber(project) {
  const args = ['projects', 'describe', project, '--format', 'value(projectNumber)']
  const { status, stdout, stderr } = spawnSync('gcloud', args, { encoding: 'utf8' })
  if (status === null)
    throw new SetupFailure(
      'gcloud was not found: the runner is deployed with it. Install the Google Cloud SDK, or leave RUNNER_SERVICE empty in functions/.env.<project id>.',
    )
  const number = stdout.trim()
  if (status !== 0 || !/^\d+$/.test(number))
    throw new SetupFailure(`gcloud does not know the project: ${stderr.trim().split('\n').at(-1)}`)
  return number
}
