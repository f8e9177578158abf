/**
 * Finds the nearest marked ancestor of a node in a forest. Nodes can be marked and unmarked. The nodes are divided into chains,
 * in which each node is followed by one of its children. The marks of a chain are neighboring bits. A search crosses at most
 * log2(nodes) chains.
 */
export class MarkedAncestors {
  /** The number of words of bits that were read, for tests. */
  steps = 0
  readonly #parents: Int32Array
  /** For each node, the uppermost node of its chain. */
  readonly #tops: Int32Array
  readonly #places: Int32Array
  readonly #nodes: Int32Array
  readonly #marks: Int32Array

  /** `parents` has the parent of each node, or -1. */
  constructor(parents: Int32Array) {
    const { length } = parents
    this.#parents = parents
    this.#tops = new Int32Array(length)
    this.#places = new Int32Array(length)
    this.#nodes = new Int32Array(length)
    this.#marks = new Int32Array((length >>> 5) + 1)
    const order = parentsFirst(parents)
    const largest = largestChildren(parents, order)
    let used = 0
    for (const node of order) {
      const parent = parents[node] ?? -1
      if (parent !== -1 && largest[parent] === node) continue
      for (let below = node; below !== -1; below = largest[below] ?? -1) {
        this.#tops[below] = node
        this.#places[below] = used
        this.#nodes[used] = below
        used += 1
      }
    }
  }

  mark(node: number): void {
    const place = this.#places[node] ?? 0
    this.#marks[place >>> 5] = (this.#marks[place >>> 5] ?? 0) | (1 << (place & 31))
  }

  unmark(node: number): void {
    const place = this.#places[node] ?? 0
    this.#marks[place >>> 5] = (this.#marks[place >>> 5] ?? 0) & ~(1 << (place & 31))
  }

  /** The node itself if it is marked, otherwise its nearest marked ancestor. If there is none, -1. */
  nearest(node: number): number {
    for (let at = node; at !== -1;) {
      const top = this.#tops[at] ?? 0
      const first = this.#places[top] ?? 0
      const found = this.#lastMark(first, this.#places[at] ?? 0)
      if (found !== -1) return this.#nodes[found] ?? -1
      at = this.#parents[top] ?? -1
    }
    return -1
  }

  /** The nearest marked ancestor of the node, which is never the node itself. If there is none, -1. */
  above(node: number): number {
    return this.nearest(this.#parents[node] ?? -1)
  }

  #lastMark(first: number, last: number): number {
    let word = last >>> 5
    let marks = (this.#marks[word] ?? 0) & (-1 >>> (31 - (last & 31)))
    this.steps += 1
    while (marks === 0 && word > first >>> 5) {
      word -= 1
      this.steps += 1
      marks = this.#marks[word] ?? 0
    }
    const found = (word << 5) + 31 - Math.clz32(marks)
    return marks !== 0 && found >= first ? found : -1
  }
}

function parentsFirst(parents: Int32Array): Int32Array {
  const children = new Int32Array(parents.length).fill(-1)
  const siblings = new Int32Array(parents.length).fill(-1)
  const order = new Int32Array(parents.length)
  let length = 0
  for (const [node, parent] of parents.entries()) {
    if (parent === -1) {
      order[length] = node
      length += 1
      continue
    }
    siblings[node] = children[parent] ?? -1
    children[parent] = node
  }
  for (let at = 0; at < length; at += 1)
    for (let child = children[order[at] ?? 0] ?? -1; child !== -1; child = siblings[child] ?? -1) {
      order[length] = child
      length += 1
    }
  return order
}

/** For each node, the child that has the most nodes below it, or -1. */
function largestChildren(parents: Int32Array, order: Int32Array): Int32Array {
  const sizes = new Int32Array(parents.length).fill(1)
  const largest = new Int32Array(parents.length).fill(-1)
  for (const node of order.toReversed()) {
    const parent = parents[node] ?? -1
    if (parent === -1) continue
    const size = sizes[node] ?? 0
    const known = largest[parent] ?? -1
    sizes[parent] = (sizes[parent] ?? 0) + size
    if (known === -1 || (sizes[known] ?? 0) < size) largest[parent] = node
  }
  return largest
}
