/** Keywords that tell of a value and refuse none. */
const ANNOTATIONS = new Set([
  '$comment',
  'default',
  'deprecated',
  'description',
  'examples',
  'readOnly',
  'title',
  'writeOnly',
])

export function isAnnotation(keyword: string): boolean {
  return ANNOTATIONS.has(keyword)
}
