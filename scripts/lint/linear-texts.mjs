/**
 * A lint rule for the folders in which texts of strangers are compared with texts of strangers. Code there may search only for
 * constants, because V8's searches and regular expressions can take quadratic time. For other searches it uses
 * `packages/contract/src/matching`. An exception needs a comment with the reason:
 * `oxlint-disable-next-line toolrack/linear-texts -- The list is ours.`
 */

/** Methods that search for their first argument in a text or in a list. The rule cannot tell a text from a list. */
const SEARCHES = new Set(
  'endsWith includes indexOf lastIndexOf match matchAll replace replaceAll search split startsWith'.split(
    ' ',
  ),
)

/** @type {Parameters<import('oxlint/plugins-dev').RuleTester['run']>[1]} */
const linearTexts = {
  meta: {
    type: 'problem',
    docs: { description: 'Look for constants only, or use the linear matcher of the contract' },
    messages: {
      search:
        '{{method}} looks for a text that is no constant, which V8 may do in quadratic time; use Needles or GlobSet, or say in a comment why it cannot take long',
      pattern:
        "a regular expression is made of a text that is no constant; say in a comment why it cannot be a stranger's",
    },
  },
  create(context) {
    const isConstant = (node) => isConstantIn(context.sourceCode, node)
    const check = (node) => {
      const { callee, arguments: args } = node
      if (isNamed(callee, 'RegExp')) {
        if (isInFunction(node) && !args.every(isConstant)) context.report({ node, messageId: 'pattern' })
        return
      }
      const method = methodOf(callee)
      if (!SEARCHES.has(method) || args.length === 0) return
      if (!isConstant(args[0]) && !isConstant(callee.object))
        context.report({ node, messageId: 'search', data: { method } })
    }
    return { CallExpression: check, NewExpression: check }
  },
}

/** The name of the method that is called, also as `text['split']`. Empty for a private method, which is never a search of V8. */
function methodOf(callee) {
  if (callee.type !== 'MemberExpression' || callee.property.type === 'PrivateIdentifier') return ''
  return callee.computed ? String(callee.property.value ?? '') : callee.property.name
}

function isNamed(node, name) {
  return node.type === 'Identifier' && node.name === name
}

/** True for a literal, for a constant of a module, and for an expression that is made only of these. */
function isConstantIn(sourceCode, node) {
  const isConstant = (part) => isConstantIn(sourceCode, part)
  switch (node.type) {
    case 'Literal':
      return true
    case 'TemplateLiteral':
      return node.expressions.every(isConstant)
    case 'ConditionalExpression':
      return isConstant(node.consequent) && isConstant(node.alternate)
    case 'TSAsExpression':
      return isConstant(node.expression)
    default:
      return node.type === 'Identifier' && isConstantName(sourceCode, node)
  }
}

/** True if the name is in capitals, and the variable is imported or declared outside of all functions. */
function isConstantName(sourceCode, node) {
  if (!/^[A-Z][A-Z0-9_]*$/.test(node.name)) return false
  let scope = sourceCode.getScope(node)
  while (scope) {
    const variable = scope.set.get(node.name)
    if (variable) return scope.type === 'module'
    scope = scope.upper
  }
  return false
}

function isInFunction(node) {
  for (let at = node.parent; at; at = at.parent)
    if (/Function|MethodDefinition|StaticBlock/.test(at.type)) return true
  return false
}

export default { meta: { name: 'toolrack' }, rules: { 'linear-texts': linearTexts } }
