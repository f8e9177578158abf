import { ToolrackError } from '@toolrack/contract'

/** How long an artifact is kept, in milliseconds: 7 days. A conversation that is older starts anew. */
export const KEPT_MS = 7 * 24 * 60 * 60 * 1_000

/**
 * The most bytes of all artifacts of one user: some hundred charts, or a week of large logs. A disk of 10 GB has room for 100 users
 * who use all of it.
 */
export const USER_BYTES_MAX = 100 * 1024 * 1024

/** The most bytes of one artifact. A user can use all of their room for it. */
export const ARTIFACT_BYTES_MAX = USER_BYTES_MAX

/** The most artifacts of one user. A list of 100 pages has all of them, and their documents take about 10 MB. */
export const ARTIFACTS_MAX = 10_000

/**
 * The facts about an artifact that its owner reads. `type` is what its maker has said, so it is not always true. Times are ISO
 * 8601, UTC. `invocationId` and `tool` name the call that has made it. They are null for an upload.
 */
export type Artifact = {
  readonly id: string
  readonly bytes: number
  readonly sha256: string
  readonly type: string
  readonly name: string
  readonly createdAt: string
  readonly expiresAt: string
  readonly invocationId: string | null
  readonly tool: string | null
}

/** One error for everything that the caller may not read, so that its answer says nothing about artifacts of others. */
export function artifactNotFound(): ToolrackError {
  return new ToolrackError('ARTIFACT_NOT_FOUND')
}

/** The error for an artifact for which the user has no room. */
export function artifactsFull(): ToolrackError {
  const details = [{ reason: 'ITEMS_FULL', kind: 'artifact' }] as const
  return new ToolrackError('ITEMS_FULL', FULL, { details })
}

const FULL = `You may have ${USER_BYTES_MAX / 1024 / 1024} MB of artifacts, and at most ${ARTIFACTS_MAX} of them; nothing was kept. An upload that has not ended counts with the bytes that it announced, or 8 MB without Content-Length. Delete some with DELETE …/artifacts/{id}, or wait: each one expires after 7 days.`

/** The error of a service that has no place for the bytes of artifacts. */
export function artifactsAreOff(): ToolrackError {
  return new ToolrackError('KIND_NOT_SERVED', OFF)
}

const OFF =
  'This service keeps no artifacts, because its operator has set no place for them. Nothing was done.'

/** The type of an artifact whose maker says none, or one that cannot be right. */
export const ANY_TYPE = 'application/octet-stream'

/** A media type without parameters (RFC 9110, 8.3.1). The longest registered name of a part has 127 characters. */
const TYPE = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/

/** The media type in a text such as the header `Content-Type`, without parameters. Undefined if it is none. */
export function mediaType(text: string): string | undefined {
  const type = (text.split(';', 1)[0] ?? '').trim().toLowerCase()
  return TYPE.test(type) ? type : undefined
}

/** The most UTF-16 code units of the name of an artifact. File systems take names of 255 bytes. */
const NAME_LENGTH_MAX = 200

/** The most UTF-16 code units of the end of a name that stays when the name is cut. The longest usual ones are `.tar.gz` and `.geojson`. */
const EXTENSION_LENGTH_MAX = 16

/** The most UTF-16 code units of a name that are read. Only the end of a longer text can be the name of a file. */
const READ_LENGTH_MAX = 4_096

/** What a name may not have: control characters, and those that change the direction of a text or cannot be seen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu

/**
 * The name of a file as people and other programs can have it: the part after the last slash, without control characters, at most
 * NAME_LENGTH_MAX. Never empty, never a dot alone. No path of the service is made of it.
 */
export function cleanName(text: string): string {
  const end = text.slice(-READ_LENGTH_MAX).toWellFormed()
  const last = end.slice(Math.max(end.lastIndexOf('/'), end.lastIndexOf('\\')) + 1)
  const seen = last.replace(UNSEEN, '').trim()
  const name = seen.length <= NAME_LENGTH_MAX ? seen : shortened(seen)
  return /^\.*$/.test(name) ? 'artifact' : name
}

function shortened(name: string): string {
  const dot = name.lastIndexOf('.')
  const extension = dot > 0 && name.length - dot <= EXTENSION_LENGTH_MAX ? name.slice(dot) : ''
  return (name.slice(0, NAME_LENGTH_MAX - extension.length) + extension).toWellFormed()
}
