import type { JsonObject, ToolDefinition } from '@toolrack/contract'
import { sha256Hex } from '@toolrack/contract'
import type { SourceOf } from '../../functions/src/invoke/invoke-parts.ts'

const WEATHER = `
import os, sys, time


def get(location: str, days: int = 1) -> str:
    print("looking at", location)
    return f"{location}: cloudy for {days} day(s)"


def numbers(values: list) -> dict:
    return {"min": min(values), "max": max(values), "list": values}


def broken(location: str) -> str:
    raise ValueError("no weather there")


def slow(seconds: float) -> str:
    time.sleep(seconds)
    return "done"


def crash() -> None:
    os.abort()


def nothing_json() -> float:
    return float("nan")


def large(characters: int) -> str:
    return "x" * characters


def who(context: dict | None = None) -> dict:
    return {"context": context, "pid": os.getpid()}


TOOL_SPECS = [
    {"name": f"weather:{handler.__name__}", "description": handler.__name__, "handler": handler}
    for handler in (get, numbers, broken, slow, crash, nothing_json, large, who)
]
`

/** A module, and the definitions that its upload would bring. */
export const weather = {
  name: 'weather',
  source: WEATHER,
  sha256: sha256Hex(WEATHER),
}

/** A tool of that module, as a definition of its layer. */
export function weatherTool(
  name: string,
  properties: JsonObject,
  more: Partial<ToolDefinition> = {},
): ToolDefinition {
  return {
    type: 'function',
    function: {
      name: `weather:${name}`,
      description: `Runs ${name}.`,
      parameters: {
        type: 'object',
        properties,
        required: Object.keys(properties).slice(0, 1),
        additionalProperties: false,
      },
    },
    runner: { kind: 'python', module: weather.name, sha256: weather.sha256 },
    ...more,
  }
}

export const WEATHER_TOOLS: readonly ToolDefinition[] = [
  weatherTool('get', { location: { type: 'string' }, days: { type: 'integer', minimum: 1 } }),
  weatherTool('numbers', { values: { type: 'array', items: { type: 'number' } } }),
  weatherTool('broken', { location: { type: 'string' } }),
  weatherTool('slow', { seconds: { type: 'number' } }, { limits: { timeoutSeconds: 20 } }),
  weatherTool('crash', {}),
  weatherTool('nothing_json', {}),
  weatherTool('large', { characters: { type: 'integer' } }),
  weatherTool('who', {}),
]

/** Knows the module, in whatever layer it is asked for. */
export const weatherSource: SourceOf = (_owner, sha256) =>
  Promise.resolve(sha256 === weather.sha256 ? weather.source : undefined)
