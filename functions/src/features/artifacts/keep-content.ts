import { isToolrackError, ToolrackError, type ResultContent, type ToolResult } from '@toolrack/contract'
import { LRUCache } from 'lru-cache'
import { inspect } from 'node:util'
import type { Authorised, CallOutcome, ResultData } from '../../calls/call.ts'
import type { Step } from '../../calls/onion.ts'
import { RESULT_BYTES_MAX } from '../../calls/pipeline/run-tool.ts'
import { readArtifact } from '../../catalog/builtin/builtins.ts'
import { ArtifactSchemas, mayNameArtifacts } from '../../catalog/schemas/artifact-schemas.ts'
import { definitionOf } from '../../catalog/views/catalog-entry.ts'
import type { ArgumentFile, MadeContent } from '../../catalog/definitions/runner.ts'
import type { Log } from '../../log.ts'
import { Turns } from '../../loop-turn.ts'
import type { StoredSecrets } from '../../redaction/stored-secrets.ts'
import { IN_UTF_16 } from '../../redaction/text-encodings.ts'
import { artifactArguments } from './artifact-arguments.ts'
import type { ArtifactStore } from './artifact-store.ts'
import { AttachedBytes, attachedBudget } from './attached-bytes.ts'
import { ANY_TYPE, cleanName, mediaType, type Artifact } from './artifact.ts'
import { imageType } from './image-type.ts'

/**
 * The most bytes of a text that is kept as an artifact. The runner holds all of a result in memory, and so does the service while
 * it keeps it: with 8 calls at once, 32 MB.
 */
export const KEPT_TEXT_BYTES_MAX = 4 * 1024 * 1024

/** The most bytes of a text that a model reads as it is. This is about 8,000 tokens. */
export const READ_TEXT_BYTES_MAX = 32 * 1024

/** How many UTF-16 code units of a longer text a model reads of its beginning, and of its end: enough to see what it is. */
const HEAD_LENGTH = 6 * 1024
const TAIL_LENGTH = 2 * 1024

/** The most bytes of the artifacts that one call gets as files. They travel in its request to the runner. */
export const ATTACHED_BYTES_MAX = 8 * 1024 * 1024

/** The most artifacts that one call gets as files. */
const ATTACHED_MAX = 16

/**
 * The most characters of all definitions together whose schemas stay in memory as ArtifactSchemas. These are 1,000 usual
 * definitions. In memory, a schema takes about ten times as much.
 */
const SCHEMAS_LENGTH_MAX = 2 * 1024 * 1024

type Parts = {
  readonly artifacts: ArtifactStore
  readonly log: Pick<Log, 'warn'>
}

/**
 * Loads the artifacts that the arguments of a call name, so that the handler gets them as files. After the call, keeps the images
 * and files of the result, and a text that is too long to be answered.
 */
export function keepContent({ artifacts, log }: Parts): Step<Authorised> {
  const attachedBytes = new AttachedBytes(attachedBudget())
  const schemas = new LRUCache<string, ArtifactSchemas>({ maxSize: SCHEMAS_LENGTH_MAX })
  function schemasOf(entry: Authorised['entry']): ArtifactSchemas {
    const { digest, text } = entry.stored
    const known = schemas.get(digest)
    if (known) return known
    const made = new ArtifactSchemas(definitionOf(entry).function.parameters)
    schemas.set(digest, made, { size: text.length })
    return made
  }
  return async (call, next) => {
    const { principal, entry, howRun } = call
    // A page of a kept text would otherwise become an artifact too, and the model would read only its ends.
    if (howRun.by === 'builtin' && howRun.builtin === readArtifact) return next(call)
    const wanted = mayNameArtifacts(entry.stored.text)
      ? await attachedTo(call, schemasOf(entry), artifacts)
      : []
    const bytes = wanted.reduce((sum, one) => sum + one.artifact.bytes, 0)
    return attachedBytes.run(principal.uid, bytes, async () => {
      const attached = await filesOf(wanted, artifacts)
      const outcome = await next({
        ...call,
        resultBytesMax: KEPT_TEXT_BYTES_MAX,
        ...(attached.length > 0 && { attached }),
      })
      return withKept(outcome, call, { artifacts, log })
    })
  }
}

type Wanted = { readonly pointer: string; readonly artifact: Artifact }

/** The artifacts that the arguments name. Throws ARTIFACT_NOT_FOUND, or ARGUMENTS_INVALID if there are too many. */
async function attachedTo(
  { principal, entry, request, signal }: Authorised,
  schemas: ArtifactSchemas,
  artifacts: ArtifactStore,
): Promise<readonly Wanted[]> {
  const named = await new Turns(signal).run(artifactArguments(schemas, request.arguments))
  if (named.length > ATTACHED_MAX)
    throw new ToolrackError(
      'ARGUMENTS_INVALID',
      `${entry.name}: the arguments name ${named.length} artifacts, and a call may have ${ATTACHED_MAX}; nothing was run.`,
    )
  const wanted: Wanted[] = []
  let bytes = 0
  for (const { pointer, id } of named) {
    const artifact = await artifacts.find(principal, id).catch((error: unknown) => {
      if (!isToolrackError(error) || error.code !== 'ARTIFACT_NOT_FOUND') throw error
      throw new ToolrackError(
        'ARTIFACT_NOT_FOUND',
        `${entry.name}: the argument at ${pointer} ${NO_ARTIFACT}`,
      )
    })
    bytes += artifact.bytes
    if (bytes > ATTACHED_BYTES_MAX)
      throw new ToolrackError(
        'ARGUMENTS_INVALID',
        `${entry.name}: the artifacts that the arguments name have more than ${ATTACHED_BYTES_MAX / 1024 / 1024} MB together; nothing was run.`,
      )
    wanted.push({ pointer, artifact })
  }
  return wanted
}

const NO_ARTIFACT =
  'must be the id of an artifact of yours; it never was one, was deleted, or has expired. Nothing was run. Upload a file with POST …/artifacts, or take an id from the result of a call.'

async function filesOf(
  wanted: readonly Wanted[],
  artifacts: ArtifactStore,
): Promise<readonly ArgumentFile[]> {
  const files: ArgumentFile[] = []
  for (const { pointer, artifact } of wanted)
    files.push({ pointer, name: artifact.name, bytes: await artifacts.bytesOf(artifact) })
  return files
}

/** The outcome with artifacts in place of its bytes, and of a text that is too long. Never throws, because the tool has run. */
async function withKept(outcome: CallOutcome, call: Authorised, parts: Parts): Promise<CallOutcome> {
  const { made, result } = outcome
  if (result.resultType === 'failure') return made ? { ...outcome, made: undefined } : outcome
  const withContent = made && made.length > 0 ? await keptContent(result, made, call, parts) : result
  const kept = await keptText(withContent, call, parts)
  if (kept.result === result && !made) return outcome
  return { ...outcome, made: undefined, result: kept.result, artifact: kept.artifact ?? outcome.artifact }
}

type Success = Extract<ToolResult<ResultData>, { readonly resultType: 'success' }>

async function keptContent(
  result: Success,
  made: readonly MadeContent[],
  call: Authorised,
  parts: Parts,
): Promise<Success> {
  const content: ResultContent[] = []
  let text = result.textResultForLlm
  for (const one of made) {
    const kept = await keptOne(one, call, parts)
    content.push(kept)
    // The model reads only the text of the result, so it would not know that something is missing.
    if (kept.type === 'text') text += `\n${kept.text}`
  }
  return { ...result, textResultForLlm: text, content: [...(result.content ?? []), ...content] }
}

async function keptOne(made: MadeContent, call: Authorised, parts: Parts): Promise<ResultContent> {
  const found = imageType(made.bytes)
  // What is no image is a file, whatever its maker calls it: vendors of models refuse a conversation with a broken image.
  const type = made.type === 'image' && found !== undefined ? 'image' : 'file'
  const plain = { type: found ?? mediaType(made.mimeType) ?? ANY_TYPE, name: cleanName(made.name) }
  const shown = call.secrets
    ? await withoutSecrets({ ...plain, bytes: made.bytes }, call.secrets.stored)
    : { ...plain, bytes: made.bytes }
  if (!shown) {
    const what = type === 'image' ? 'An image' : 'A file'
    return { type: 'text', text: `${what} of the result was not kept, because ${HAS_SECRET}` }
  }
  const kept = await tryToKeep(shown, shown.bytes, call, parts)
  if ('fault' in kept)
    return { type: 'text', text: `The ${type} ${JSON.stringify(shown.name)} was not kept: ${kept.fault}` }
  const { id, bytes, name, type: mimeType } = kept
  return { type, artifact: id, mimeType, name, bytes }
}

const HAS_SECRET = 'it has a secret that the tool got.'

type Shown = { readonly type: string; readonly name: string; readonly bytes: Uint8Array }

/** The content without the secrets that the tool got. Undefined if they cannot be removed, because it is no text. */
async function withoutSecrets(made: Shown, stored: StoredSecrets): Promise<Shown | undefined> {
  const turns = new Turns()
  const type = (await turns.run(stored.isInAnyCase(made.type))) ? ANY_TYPE : made.type
  const name = (await turns.run(stored.isPartlyIn(made.name))) ? cleanName('') : made.name
  const text = utf8In(made.bytes)
  // A text in UTF-16 can be valid UTF-8 too.
  const readings = text === undefined ? undefined : IN_UTF_16
  if (await turns.run(stored.isInBytes(made.bytes, readings))) return undefined
  if (text === undefined) return { type, name, bytes: made.bytes }
  const shown = await turns.run(stored.without(text))
  return { type, name, bytes: shown === text ? made.bytes : Buffer.from(shown) }
}

function utf8In(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/** Keeps a text that has more bytes than the caller is answered, and answers its beginning and its end. */
async function keptText(
  result: Success,
  call: Authorised,
  parts: Parts,
): Promise<{ readonly result: Success; readonly artifact?: string }> {
  const text = result.textResultForLlm
  const bytesMax = call.cutsText ? READ_TEXT_BYTES_MAX : RESULT_BYTES_MAX
  // One UTF-16 code unit becomes at most three bytes, so the bytes of most texts need not be counted.
  if (text.length * 3 <= bytesMax) return { result }
  const content = Buffer.from(text)
  if (content.length <= bytesMax) return { result }
  const isJson = result.data !== undefined
  const made = {
    type: isJson ? 'application/json' : 'text/plain',
    name: cleanName(`${call.entry.name.replaceAll(':', '-')}.${isJson ? 'json' : 'txt'}`),
  }
  const kept = await tryToKeep(made, content, call, parts)
  const cut = { ...result, textResultForLlm: cutText(text, content.length, kept) }
  // The text is the JSON of the value, so the value is as long as the text.
  const { data: _data, ...withoutData } = cut
  const answered = content.length > RESULT_BYTES_MAX ? withoutData : cut
  return 'fault' in kept ? { result: answered } : { result: answered, artifact: kept.id }
}

type Fault = { readonly fault: string }

async function tryToKeep(
  { type, name }: { readonly type: string; readonly name: string },
  bytes: Uint8Array,
  { principal, invocationId, entry }: Authorised,
  { artifacts, log }: Parts,
): Promise<Artifact | Fault> {
  try {
    return await artifacts.keep(principal, { type, name, invocationId, tool: entry.name }, bytes)
  } catch (error) {
    if (isToolrackError(error) && error.code === 'ITEMS_FULL') return { fault: error.message }
    log.warn('an artifact of a call was not kept', { invocationId, error: inspect(error) })
    return { fault: 'the store of artifacts could not be written.' }
  }
}

/** The beginning and the end of a text, with a sentence in between that says how to read the rest. */
export function cutText(text: string, bytes: number, kept: Pick<Artifact, 'id'> | Fault): string {
  const head = text.slice(0, isPairAt(text, HEAD_LENGTH) ? HEAD_LENGTH - 1 : HEAD_LENGTH)
  const from = text.length - TAIL_LENGTH
  const tail = text.slice(isPairAt(text, from) ? from + 1 : from)
  const rest =
    'fault' in kept
      ? `The rest was not kept: ${kept.fault}`
      : `The whole text is the artifact ${kept.id}: the tool read_artifact reads and searches it.`
  return `${head}\n[… The text has ${bytes} bytes, and its middle is left out here. ${rest} …]\n${tail}`
}

/** True if a cut at this place would divide a character of two UTF-16 code units. */
function isPairAt(text: string, at: number): boolean {
  return (text.codePointAt(at - 1) ?? 0) > 0xffff
}
