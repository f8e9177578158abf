/** The one home of the rule for user ids: nothing that could lead out of a path. */
const UID = /^[A-Za-z0-9_-]{1,128}$/

export const UID_RULE = 'a user id is 1 to 128 letters, digits, _ or - (ASCII)'

export function isUid(value: unknown): value is string {
  return typeof value === 'string' && UID.test(value)
}
