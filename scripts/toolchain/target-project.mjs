import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './checkout.mjs'
import { addressesOf, demoProject } from './emulators.mjs'

/** The option that names a project. The value may also be an alias of .firebaserc. */
export const projectOption = {
  takes: 'ID',
  rule: 'a project id, such as my-project',
  accepts: (text) => /^[a-z][\w.:-]*$/i.test(text),
  about: 'the Firebase project, with the credentials on this machine',
}

/**
 * The environment of a program that changes data. If `project` is given, the program changes this project and never an emulator.
 * Otherwise the program changes only the running emulators.
 */
export function targetEnvironment(project) {
  const { FIRESTORE_EMULATOR_HOST: firestore, FIREBASE_AUTH_EMULATOR_HOST: auth, ...env } = process.env
  if (project) return { ...env, GOOGLE_CLOUD_PROJECT: project }
  const usual = addressesOf(JSON.parse(readFileSync(join(root, 'firebase.json'), 'utf8')))
  return {
    ...env,
    GOOGLE_CLOUD_PROJECT: demoProject,
    FIRESTORE_EMULATOR_HOST: firestore || usual.firestore,
    FIREBASE_AUTH_EMULATOR_HOST: auth || usual.auth,
  }
}
