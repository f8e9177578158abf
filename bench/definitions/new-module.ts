import { invocation } from './echo-tool.ts'

const FUNCTIONS = 40

/** The number of files of a module of `newModuleOfFiles`. */
export const FILES = 20

/** The module of `newModule` in 20 files. `__init__.py` has the tool and imports the other files, which have up to three functions. */
export function newModuleOfFiles(number: number) {
  const { source, ...rest } = newModule(number)
  const [head = '', ...functions] = source.split('\ndef step_')
  const [last = '', tail = ''] = (functions.pop() ?? '').split('\n\ndef echo')
  const all = [...functions, last].map((text) => `\ndef step_${text}`)
  const share = Math.ceil(all.length / (FILES - 1))
  const siblings = Array.from({ length: FILES - 1 }, (_, index) => {
    const own = all.slice(index * share, (index + 1) * share)
    return [`part_${index}.py`, `${head}${own.join('')}`] as const
  })
  const imports = siblings.map(([path]) => `from .${path.slice(0, -'.py'.length)} import *`)
  const init = `${imports.join('\n')}\n\ndef echo${tail}`
  return { ...rest, files: Object.fromEntries([['__init__.py', init], ...siblings]) }
}

/** A new module of about 6 kB, with its tool and 40 other functions. */
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
