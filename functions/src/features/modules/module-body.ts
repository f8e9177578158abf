import { isJsonObject, ToolrackError, type JsonValue } from '@toolrack/contract'
import { filesOf, type ModuleContent } from '../../catalog/definitions/module-content.ts'
import { refuseManyFiles } from '../../catalog/definitions/module-files.ts'
import { nearMiss } from '../../catalog/schemas/near-miss.ts'
import { BODY_BYTES_MAX, bodyTooLarge } from '../../http/body-kinds.ts'
import { bodyInvalid, readBytes, readObject, type Sent } from '../../http/read-body.ts'

/** The content types with which clients send a Python file. `curl --data-binary` sends the type of an HTML form. */
const PYTHON = /^(?:text\/[a-z.+-]+|application\/(?:octet-stream|x-python(?:-code)?|x-www-form-urlencoded))$/

/** Finds a JSON body that was sent with the Content-Type of Python. No Python module begins like this. */
const JSON_MODULE = /^\s*\{\s*"(?:source|files)"\s*:/

const SHAPES = '{"source": "…"} or {"files": {"__init__.py": "…"}}'
const FIELDS = ['source', 'files']

/**
 * The content of the module `name` in a body. The Content-Type says whether the body is JSON, or the bytes of one Python file.
 */
export async function readModule(sent: Sent, name: string): Promise<ModuleContent<Uint8Array>> {
  const [head = ''] = (sent.req.headers['content-type'] ?? '').toLowerCase().split(';', 1)
  const type = head.trim()
  if (type === 'application/json') return moduleInJson(sent, name)
  if (type !== '' && !PYTHON.test(type)) {
    const types = 'text/x-python, application/octet-stream or application/json'
    const remedy = 'or be left out: send the file itself, as curl -T does.'
    throw new ToolrackError('HEADER_INVALID', `The Content-Type must be ${types}, ${remedy}`)
  }
  const source = await readBytes(sent, 'source')
  if (JSON_MODULE.test(Buffer.from(source.subarray(0, 64)).toString('latin1')))
    throw new ToolrackError('HEADER_INVALID', 'A module in JSON needs the Content-Type application/json.')
  return { source }
}

/** The module in a JSON body. The limit is that of a bulk body, because JSON may take more bytes than the files in it. */
async function moduleInJson(sent: Sent, name: string): Promise<ModuleContent<Uint8Array>> {
  const { source, files, ...rest } = await readObject(sent, 'files')
  refuseUnknown(Object.keys(rest))
  if ((source === undefined) === (files === undefined))
    throw bodyInvalid(`The body must be ${SHAPES}, or the Python source itself.`)
  if (files !== undefined) return filesIn(name, files)
  const bytes = bytesOf(source, 'source')
  if (bytes.length > BODY_BYTES_MAX.single) throw bodyTooLarge('source')
  return { source: bytes }
}

function refuseUnknown(unknown: readonly string[]): void {
  const [first] = unknown
  if (first === undefined) return
  const meant = nearMiss(first, FIELDS)
  const hint = meant === undefined ? '' : ` Did you mean '${meant}'?`
  throw bodyInvalid(`The body has a field that it cannot have.${hint} It must be ${SHAPES}.`)
}

function filesIn(name: string, sent: JsonValue): ModuleContent<Uint8Array> {
  if (!isJsonObject(sent))
    throw bodyInvalid('The field files must be an object: a path and a text for each file.')
  const all = Object.entries(sent)
  refuseManyFiles(name, all.length)
  if (all.some(([path]) => !path.isWellFormed()))
    throw bodyInvalid('The field files has a path with a lone surrogate, which is no text.')
  const files = filesOf(
    all.map(
      ([path, text]) => [path, bytesOf(text, `files[${JSON.stringify(path.slice(0, PATH_SHOWN))}]`)] as const,
    ),
  )
  return { files }
}

/** How many characters of a path a message repeats. */
const PATH_SHOWN = 80

/**
 * The bytes of a file in a JSON body. Refuses a lone surrogate. JSON can contain one, but UTF-8 cannot, so the bytes would differ
 * from the text that was sent.
 */
function bytesOf(text: JsonValue | undefined, place: string): Uint8Array {
  if (typeof text !== 'string') throw bodyInvalid(`The field ${place} must be the text of a file.`)
  if (!text.isWellFormed())
    throw bodyInvalid(`The field ${place} has a lone surrogate, which is no text; send the whole character.`)
  return Buffer.from(text)
}
