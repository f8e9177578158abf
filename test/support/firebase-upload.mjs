import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * The paths of the files that a plain `firebase deploy` in this folder would upload, by the code of firebase-tools itself: from
 * the archive that it makes of the functions, and from its list for Hosting.
 * @param {string} root
 * @returns {Promise<{ functions: string[], hosting: string[] }>}
 */
export async function filesOfUpload(root) {
  const [{ normalizeAndValidate }, { prepareFunctionsUpload }, { listFiles }] = await Promise.all(
    ['functions/projectConfig.js', 'deploy/functions/prepareFunctionsUpload.js', 'listFiles.js'].map(
      (path) => import(`firebase-tools/lib/${path}`),
    ),
  )
  const { functions, hosting } = JSON.parse(readFileSync(join(root, 'firebase.json'), 'utf8'))
  const [codebase] = normalizeAndValidate(functions)
  const source = join(root, codebase.source)
  const options = { exportType: 'zip' }
  const { pathToSource } = await prepareFunctionsUpload(root, source, codebase, [], undefined, options)
  const archive = readFileSync(pathToSource)
  rmSync(pathToSource)
  return {
    functions: sorted(namesInZip(archive)),
    hosting: sorted(listFiles(join(root, hosting.public), hosting.ignore)),
  }
}

function sorted(names) {
  return names.toSorted((one, other) => (one < other ? -1 : 1))
}

/** The names in the directory at the end of a ZIP archive. */
function namesInZip(archive) {
  const end = archive.lastIndexOf('PK\x05\x06')
  const names = []
  let at = archive.readUInt32LE(end + 16)
  for (let left = archive.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [name, extra, comment] = [28, 30, 32].map((offset) => archive.readUInt16LE(at + offset))
    names.push(archive.toString('utf8', at + 46, at + 46 + name))
    at += 46 + name + extra + comment
  }
  return names
}
