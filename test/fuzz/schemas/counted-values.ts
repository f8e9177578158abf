import type { JsonValue } from '@toolrack/contract'

export type Counted = { readonly value: JsonValue; readonly touches: () => number }

/** The same value, which counts how often a part of it is looked at: work that is the same on every machine. */
export function countedValues(value: JsonValue): Counted {
  let touches = 0
  const handler: ProxyHandler<object> = {
    get(target, key) {
      touches += 1
      return wrapped(Reflect.get(target, key) as JsonValue)
    },
    has(target, key) {
      touches += 1
      return Reflect.has(target, key)
    },
    ownKeys(target) {
      const keys = Reflect.ownKeys(target)
      touches += keys.length
      return keys
    },
  }
  function wrapped(part: JsonValue): JsonValue {
    return typeof part === 'object' && part !== null ? (new Proxy(part, handler) as JsonValue) : part
  }
  return { value: wrapped(value), touches: () => touches }
}
