import type { ToolFacts } from './tool-facts.ts'

/** A tool is compared with this many groups that have the same family, and with this many that have the same content. */
const GROUPS_MAX = 16

type Group<Item> = readonly [Item, ...Item[]]

/** Puts each item into the group of the first item before it that is its twin. Takes time for each item, not for each pair. */
export function groupTwins<Item extends { readonly facts: ToolFacts }>(
  items: Iterable<Item>,
): readonly Group<Item>[] {
  const groups: [Item, ...Item[]][] = []
  const byFamily = new Map<number, [Item, ...Item[]][]>()
  const byContent = new Map<number, [Item, ...Item[]][]>()
  for (const item of items) {
    const { family, content } = item.facts
    const isTwin = ([first]: Group<Item>): boolean => first.facts.isTwinOf(item.facts)
    const group = byFamily.get(family)?.find(isTwin) ?? byContent.get(content)?.find(isTwin)
    if (group) {
      group.push(item)
      continue
    }
    const made: [Item, ...Item[]] = [item]
    groups.push(made)
    put(byFamily, family, made)
    put(byContent, content, made)
  }
  return groups
}

function put<Value>(map: Map<number, Value[]>, key: number, value: Value): void {
  const known = map.get(key)
  if (known === undefined) map.set(key, [value])
  else if (known.length < GROUPS_MAX) known.push(value)
}
