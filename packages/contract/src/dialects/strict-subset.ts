/** What OpenAI documents for strict schemas, or its SDK lets through; any other the API may refuse, and with it the whole request. */
export const STRICT_KEYWORDS = new Set([
  'additionalProperties',
  'anyOf',
  'const',
  'description',
  'enum',
  'exclusiveMaximum',
  'exclusiveMinimum',
  'format',
  'items',
  'maxItems',
  'maxLength',
  'maximum',
  'minItems',
  'minLength',
  'minimum',
  'multipleOf',
  'pattern',
  'properties',
  'required',
  'title',
  'type',
])

export const STRICT_FORMATS = new Set([
  'date',
  'date-time',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'time',
  'uuid',
])

/** Without look-around, named groups, flags and references back. */
export const PORTABLE_PATTERN = /^(?!.*(?:\(\?(?!:)|\\[1-9]))/s

export const STRICT_LIMITS = {
  /** Nesting of schemas, the root counted as 1. */
  levelsMax: 10,
  /** Of all objects together. */
  propertiesMax: 5_000,
  /** Of the whole schema as JSON: OpenAI counts some of them only. */
  charactersMax: 120_000,
  /** Of all enums together. */
  enumValuesMax: 1_000,
  /** An enum of more values than these may have so many characters. */
  longEnum: { values: 250, characters: 15_000 },
} as const
