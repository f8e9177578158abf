import { isJsonObject, RUNNER_KINDS, TOOL_CLASSES, TOOL_NAME_RULE, toolNameFault } from '@toolrack/contract'
import type { JsonObject } from '@toolrack/contract'
import type { z as Zod } from 'zod'
import { CALL_LIMITS_MAX } from '../../call-limits.ts'
import { onFailureFaults, onFailureSchema } from './on-failure-schema.ts'

/**
 * The fault of an unknown field whose value is too deep or too large. Unknown fields with smaller values are stored unchanged,
 * because a later runner or client may use them.
 */
const SHALLOW = { message: 'is nested deeper than 6 levels or holds more than 500 values', abort: true }

let schemas: Promise<ReturnType<typeof schemasWith>> | undefined

/** Makes the schemas when they are first needed, because loading zod takes longer than the first list of a new instance. */
export function definitionSchemas() {
  return (schemas ??= import('zod').then(({ z }) => schemasWith(z)))
}

/** Makes three schemas: of a stored definition, of a definitions file, and of such a file for editors. */
function schemasWith(z: typeof Zod) {
  const labelRule = 'must be 1 to 64 characters without a comma, and not start or end with a blank'
  const label = z.string().regex(/^[^\s,]([^,]{0,62}[^\s,])?$/, labelRule)

  const name = z
    .string()
    .superRefine((value, context) => {
      const fault = toolNameFault(value)
      if (fault) context.addIssue({ code: 'custom', message: fault, params: { name: true } })
    })
    .meta({
      description: `The name a model calls. ${TOOL_NAME_RULE}.`,
      pattern: '^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$',
    })

  const parameters = z
    .custom<JsonObject>(isJsonObject, 'must be an object: the JSON Schema of the arguments')
    .meta({
      description:
        'JSON Schema (2020-12) of the arguments. type, properties and required are added to the list where they are missing.',
      allOf: [{ $ref: 'http://json-schema.org/draft-07/schema#' }],
      type: 'object',
      properties: { type: { const: 'object' } },
    })

  const runner = z
    .looseObject({
      kind: z.enum(RUNNER_KINDS).describe('What runs the tool.'),
      workflowName: z.string().min(1).max(256).optional(),
    })
    .refine(isShallow, SHALLOW)
    .refine((value) => value.kind !== 'workflow' || value.workflowName !== undefined, {
      path: ['workflowName'],
      message: 'is missing: a runner of kind workflow names its workflow',
    })
    .describe('How the service runs the tool. Without it the client runs it.')

  const hint = z.boolean().optional()
  const annotations = z
    .looseObject({
      title: z.string().max(256).optional(),
      readOnlyHint: hint,
      destructiveHint: hint,
      idempotentHint: hint,
      openWorldHint: hint,
      classes: z
        .array(z.enum(TOOL_CLASSES))
        .min(1)
        .max(TOOL_CLASSES.length)
        .optional()
        .describe('What rules know of the tool: permission classes, and what a call of it does.'),
    })
    .refine(isShallow, SHALLOW)
    .describe("Hints about the tool's effects, named as in MCP.")

  function whole(max: number) {
    return z
      .int()
      .min(1, 'must be at least 1')
      .max(max, `must be at most ${max.toLocaleString('en')}`)
      .optional()
  }
  const limits = z
    .looseObject({
      timeoutSeconds: z.number().positive().max(3_600).optional().describe('How long a call may take.'),
      callsPerMinute: whole(CALL_LIMITS_MAX.callsPerMinute).describe(
        'How many calls of the tool each user may make a minute. It counts each user alone.',
      ),
      concurrent: whole(CALL_LIMITS_MAX.concurrent).describe(
        'How many calls of the tool each user may run at the same time.',
      ),
    })
    .refine(isShallow, SHALLOW)
    .describe('Bounds of the calls.')

  const definitionSchema = z
    .strictObject({
      type: z.literal('function'),
      function: z.strictObject({
        name,
        description: z
          .string()
          .max(16_384)
          .describe('What the tool does, when to use it and what it returns; the model reads this.'),
        parameters,
      }),
      runner: runner.optional(),
      category: label.optional().describe("The group a picker shows it in; the file's family when left out."),
      tags: z.array(label).max(32).optional().describe('Labels that the list can be filtered by.'),
      annotations: annotations.optional(),
      limits: limits.optional(),
      onFailure: onFailureSchema(z, name).refine(isShallow, SHALLOW).optional(),
      sealed: z.boolean().optional().describe('Whether no layer above may define the same name.'),
    })
    .superRefine((definition, context) => {
      for (const { path, message } of onFailureFaults(definition))
        context.addIssue({ code: 'custom', path: ['onFailure', ...path], message })
    })
    .describe('One tool definition.')

  // The items of a definitions file are checked one by one, so that an invalid item does not make the others invalid.
  const definitionFileSchema = z.strictObject({
    $schema: z.string().optional(),
    family: label.optional(),
    tools: z.array(z.unknown()).max(1_000),
  })

  // Like `definitionFileSchema`, but with the schema of each tool. Only editors use it.
  const editorFileSchema = definitionFileSchema.extend({
    family: label
      .optional()
      .describe(
        "The name of the family; the default category of its tools. Without it, the folder's name, or at the top the file's.",
      ),
    tools: z.array(definitionSchema).max(1_000),
  })

  return { definitionSchema, definitionFileSchema, editorFileSchema }
}

/** True if the value of an unknown field is small enough to be stored. */
export function isShallow(value: unknown): boolean {
  const stack = [{ value, depth: 1 }]
  for (let visits = 0; stack.length > 0; visits += 1) {
    const top = stack.pop()
    if (!top || visits > 500 || top.depth > 6) return false
    if (typeof top.value !== 'object' || top.value === null) continue
    for (const child of Object.values(top.value) as unknown[])
      stack.push({ value: child, depth: top.depth + 1 })
  }
  return true
}
