import { CALL_FORMATS, ERROR_CODES, type CallFormatName, type ResultContent } from '@toolrack/contract'
import { z } from 'zod'
import { APPROVAL_STATES } from '../approvals/approval.ts'
import {
  count,
  decision,
  digest,
  errorCode,
  flag,
  invocationMeta,
  json,
  jsonObject,
  layer,
  none,
  owner,
  time,
  toolClass,
  uuid,
} from '../../http/answer-shapes.ts'
import type { RouteSchemas } from '../../http/route-schemas.ts'
import { LIMIT_HEADERS } from '../limits/limit-headers.ts'
import type { DryRun } from './dry-run.ts'
import type { Simulation } from './simulate.ts'

const content = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({
    type: z.enum(['image', 'file']),
    artifact: uuid,
    mimeType: z.string(),
    name: z.string(),
    bytes: count,
  }),
]) satisfies z.ZodType<ResultContent>

const success = z.strictObject({
  resultType: z.literal('success'),
  textResultForLlm: z.string(),
  data: json.exactOptional(),
  content: z.array(content).exactOptional(),
  meta: invocationMeta,
})
const failure = z.strictObject({
  resultType: z.literal('failure'),
  textResultForLlm: z.string(),
  error: z.string(),
  code: errorCode,
  meta: invocationMeta,
})
const result = z.discriminatedUnion('resultType', [success, failure])

const foreseen = z.strictObject({ id: uuid, status: z.enum(APPROVAL_STATES) })
const dryRun = z.strictObject({
  decision: z.enum(['allow', 'ask', 'deny']),
  rule: z.int().nullable(),
  owner: owner.nullable(),
  reason: z.string(),
  effects: z.array(toolClass),
  limits: z.object({ timeoutSeconds: z.number().exactOptional() }).catchall(json),
  approval: foreseen.exactOptional(),
}) satisfies z.ZodType<DryRun>

/** The answer to a failed call is the call's result. Its status is one of these. */
const failures = Object.fromEntries(
  Object.values(ERROR_CODES)
    .filter(({ httpStatus }) => httpStatus !== 200)
    .map(({ httpStatus }) => [httpStatus, failure]),
)

const sentSession = z.strictObject({
  session: z
    .string()
    .optional()
    .describe('The id of a session. Only its tools can be called, and its rules apply.'),
})
const toCall = {
  name: z.string().describe('The name or alias of the tool.'),
  arguments: jsonObject
    .optional()
    .describe("An object that matches the tool's schema, at most 32 levels. Default: `{}`."),
}

export const INVOKE: RouteSchemas = {
  summary: 'Calls one tool.',
  params: none,
  query: sentSession.extend({
    dryRun: flag
      .optional()
      .describe('With `1`, the answer says what would become of the call, and the tool never runs.'),
    cut: flag
      .optional()
      .describe(
        'With `1`, a text of more than 32 KB is kept as an artifact, and the answer has its beginning and its end.',
      ),
  }),
  headers: {
    Accept: '`text/event-stream`: a stream of events while the tool runs. Default: JSON when it has ended.',
    'Idempotency-Key':
      '1 to 255 printable ASCII characters. The call runs at most once with this key within 24 hours.',
  },
  body: z.strictObject({
    ...toCall,
    context: jsonObject
      .optional()
      .describe(
        'An object for a handler with a parameter `context`, as `context["caller"]`. The model never sees it, and the service does not check it.',
      ),
    expectedDigest: digest
      .optional()
      .describe(
        'The digest of the definition that the caller read. If it is another one now, the answer is a 409 and nothing runs.',
      ),
    approval: z.string().optional().describe('The id of the approval with which the call goes on.'),
  }),
  answerHeaders: {
    'Idempotent-Replay': '`true` if the result is that of an earlier call with the same key.',
    ...LIMIT_HEADERS,
  },
  answers: { ...failures, 200: z.union([result, dryRun]) },
  events: {
    start: z
      .strictObject({ invocationId: uuid })
      .describe('First: the tool runs, or its runner has not refused the call within a second.'),
    log: z
      .strictObject({ text: z.string() })
      .describe('The tool has printed: a part of a line, or several lines. All texts together are the log.'),
    progress: z
      .strictObject({ fraction: z.number().min(0).max(1), text: z.string() })
      .describe(
        'The tool has called `context.progress`, with a fraction from 0 to 1. A slow reader gets only some of these.',
      ),
    value: z
      .strictObject({ value: json })
      .describe('A generator has yielded. The result has all values too.'),
    result: result.describe('Always last, also after a failure.'),
  },
}

const format = z.enum(CALL_FORMATS.map(({ name }) => name)) satisfies z.ZodType<CallFormatName>
/** The messages have the shape of the vendor whose calls they answer. */
const messages = z.array(jsonObject)
const identity = {
  index: count.describe('The place of the call in the list that was sent, from 0.'),
  id: z.string().nullable(),
  name: z.string(),
}
/** The calls as a model wrote them: a list, or the message that contains them. */
const calls = z.union([z.array(json), jsonObject])

export const DISPATCH: RouteSchemas = {
  summary: "Runs a model's tool calls, and answers with the messages to append to the conversation.",
  params: none,
  query: sentSession.extend({
    images: z
      .enum(['0', '1'])
      .optional()
      .describe('With `0`, the messages have sentences in place of images. Default: `1`.'),
  }),
  headers: {
    'Idempotency-Key':
      '1 to 255 printable ASCII characters. Each call runs at most once with this key and its own id within 24 hours.',
  },
  body: calls.describe(
    'The calls as the model wrote them: a list, or the message that contains them. At most 64 calls and 1 MB.',
  ),
  answerHeaders: LIMIT_HEADERS,
  answers: {
    200: z.strictObject({
      format,
      messages,
      results: z.array(z.strictObject({ ...identity, result: result.nullable() })),
      pending: z.array(
        z.strictObject({
          ...identity,
          layer: layer.describe(
            'The layer of the definition. Users write the layer `user`, so there the user chooses `workflowName`.',
          ),
          kind: z
            .enum(['client', 'workflow', 'approval'])
            .describe(
              '`approval` if a rule asks about the call, `workflow` if the runner is a workflow, and `client` without a runner.',
            ),
          workflowName: z.string().exactOptional(),
          approval: z
            .strictObject({ id: uuid, expiresAt: time })
            .exactOptional()
            .describe('When it is approved, make the call by invoke.'),
          arguments: jsonObject.describe(
            'They are checked against the schema only if the service runs the tool.',
          ),
          call: jsonObject.describe('The call as the model wrote it.'),
        }),
      ),
    }),
  },
}
export const COMPLETE: RouteSchemas = {
  summary: 'Answers with the messages to append, if you have run some of the calls yourself.',
  params: none,
  query: none,
  body: z.strictObject({
    format: format.describe('The `format` of the answer to the dispatch.'),
    calls: calls.describe(
      "All calls of the model's answer, as they were sent to dispatch: a list, or the message that contains them.",
    ),
    results: z
      .array(
        z.looseObject({
          index: count.describe('The place of the call in `calls`, from 0.'),
          id: z.string().nullish().describe('The id of the call. If it is there, it must be right.'),
          result: json.describe(
            'A ToolResult, a text for the model, or the answer of a workflow, `{"encoded":"…","cost":0.002}`. An item with null is ignored.',
          ),
        }),
      )
      .optional()
      .describe('One result for each call, in any order. Other fields are ignored.'),
  }),
  answers: { 200: z.strictObject({ format, messages }) },
}

export const SIMULATE: RouteSchemas = {
  summary: 'Answers what would become of a call. Nothing runs, and nobody is asked.',
  params: none,
  query: z.strictObject({
    session: z.string().optional().describe('The session through which the call would be made.'),
  }),
  body: z.strictObject({
    ...toCall,
    approval: z.string().optional().describe('The id of the approval with which the call would go on.'),
    as: z
      .strictObject({
        uid: z
          .string()
          .optional()
          .describe('The user who would call. Only an admin may name another user. Default: you.'),
        workflow: z
          .string()
          .optional()
          .describe('The workflow of the job token with which the call would be made.'),
        session: z
          .string()
          .optional()
          .describe('As `session` in the query. Only one of the two may be there.'),
        agent: z.string().optional().describe('An agent whose rules apply too.'),
      })
      .optional()
      .describe('Who would make the call. Default: you.'),
  }),
  answers: {
    200: decision.extend({
      name: z.string(),
      classes: z.array(toolClass),
      listed: z.boolean().describe('Whether the list of the same caller and session has the tool.'),
      approval: foreseen.nullable(),
      code: errorCode
        .nullable()
        .describe(
          'The code with which the call would be answered, also if the rules allow it. Null if the tool would run.',
        ),
      message: z.string().nullable(),
    }) satisfies z.ZodType<Simulation>,
  },
}
