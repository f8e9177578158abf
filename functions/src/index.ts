import './options.ts'
import { onRequest } from 'firebase-functions/https'
import { serving } from './cloud/serving.ts'

/** For users, with Firebase ID tokens; `/api/**` and `/health` come here too. */
export const workflows = onRequest({ cors: false }, serving('workflows'))

/** For workflows that act for a user. */
export const jobs = onRequest({ cors: false }, serving('jobs'))
