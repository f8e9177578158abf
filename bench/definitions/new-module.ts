import { invocation } from './echo-tool.ts'

const FUNCTIONS = 40

/** A new module of about 6 kB, with one tool and the usual number of functions for this size. */
export function newModule(number: number) {
  const functions = Array.from(
    { length: FUNCTIONS },
    (_, index) => `
def step_${index}(text, limit=${index + 10}):
    """Step ${index} of ${number}."""
    words = [word for word in re.split(r"\\W+", text) if word]
    return {"words": len(words), "area": math.pi * limit}
`,
  )
  const source = `import json
import math
import re
from datetime import datetime
${functions.join('\n')}

def echo(items):
    """Gives back what it gets."""
    return {"items": items}


TOOL_SPECS = [{"name": "fresh_${number}:echo", "description": "Gives back what it gets.", "handler": echo,
               "parameters": {"type": "object", "properties": {"items": {"type": "array"}}, "required": ["items"]}}]
`
  return invocation(`fresh_${number}`, 'echo', source)
}
