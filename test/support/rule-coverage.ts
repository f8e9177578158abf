/** A part of the Firestore emulator's report about its rules: an expression, its parts, and their values. */
type Node = {
  readonly sourcePosition: {
    readonly line: number
    readonly currentOffset: number
    readonly endOffset: number
  }
  readonly values?: readonly { readonly value?: { readonly boolValue?: boolean } }[]
  readonly children?: readonly Node[]
}

export type RuleExpression = {
  readonly line: number
  readonly text: string
  /** The values of the expression, such as `false,true`. Empty if no request evaluated it. */
  readonly outcomes: string
}

/** Every condition in the rules and each of its parts, with their values. */
export function ruleExpressions(report: unknown): readonly RuleExpression[] {
  const { rules, report: nodes } = report as { rules: { files: { content: string }[] }; report: Node[] }
  const source = Buffer.from(rules.files[0]?.content ?? '')
  return nodes.flatMap(flattened).flatMap((node) => {
    const { line, currentOffset, endOffset } = node.sourcePosition
    const outcomes = outcomesOf(node)
    if (outcomes === undefined) return []
    return [{ line, text: source.subarray(currentOffset, endOffset).toString(), outcomes }]
  })
}

function flattened(node: Node): readonly Node[] {
  return [node, ...(node.children ?? []).flatMap(flattened)]
}

/** The values of a part. Undefined if the part is not a condition, such as `request.auth`. */
function outcomesOf({ values = [] }: Node): string | undefined {
  const outcomes = values.flatMap(({ value }) => (value?.boolValue === undefined ? [] : [value.boolValue]))
  if (values.length > 0 && outcomes.length === 0) return undefined
  return [...new Set(outcomes)].toSorted().join(',')
}
