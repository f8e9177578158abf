import type { Layer, ToolAnnotations } from '../tool-definition.ts'

/** What a tool may need a permission for. */
export const PERMISSION_CLASSES = [
  'file_read',
  'file_write',
  'file_modify',
  'code_execution',
  'network_access',
  'git_operations',
  'agent_spawn',
] as const

/** The effects that a call of a tool may have. The effects of an `opaque` tool are not known. */
export const EFFECT_CLASSES = ['read', 'create', 'update', 'delete', 'opaque'] as const

export type ToolClass = (typeof PERMISSION_CLASSES)[number] | (typeof EFFECT_CLASSES)[number]

export const TOOL_CLASSES: readonly ToolClass[] = [...PERMISSION_CLASSES, ...EFFECT_CLASSES]

export function isToolClass(value: unknown): value is ToolClass {
  return TOOL_CLASSES.some((one) => one === value)
}

/**
 * The classes of a tool. They are in `annotations.classes` or, without it, follow from the tool's hints. A tool of the user layer
 * is always `opaque`, because the user to whom the rules apply may have written its annotations.
 */
export function classesOf(annotations: ToolAnnotations | undefined, layer: Layer): readonly ToolClass[] {
  if (layer === 'user') return ['opaque']
  const classes = annotations?.['classes']
  const known = Array.isArray(classes) ? classes.filter(isToolClass) : []
  if (known.length > 0) return [...new Set(known)]
  if (annotations?.readOnlyHint === true) return ['read']
  return annotations?.destructiveHint === true ? ['delete'] : ['opaque']
}

/** The effects of a tool, for people who decide about a call. If its classes name no effect, it is `opaque`. */
export function effectsOf(classes: readonly ToolClass[]): readonly ToolClass[] {
  const effects = classes.filter((one) => (EFFECT_CLASSES as readonly ToolClass[]).includes(one))
  return effects.length > 0 ? effects : ['opaque']
}
