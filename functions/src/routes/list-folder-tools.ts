import { decide } from '../access/decide.ts'
import { folderAnswer } from '../folder/folder-answer.ts'
import { refuseParameters } from '../http/query.ts'
import type { RouteRequest } from '../http/route.ts'
import { sendJson } from '../http/send-json.ts'

/** `GET /api/tools`: what the folder of modules holds, from which file, and what is left out and why. */
export async function listFolderTools({ services, principal, search, res }: RouteRequest): Promise<void> {
  refuseParameters(search)
  const { allowed } = decide(principal, { verb: 'read-modules', layer: 'file' })
  sendJson(res, 200, await folderAnswer(services.folder, allowed))
}
