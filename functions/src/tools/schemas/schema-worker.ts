import type { JsonObject } from '@toolrack/contract'
import { answerQuestions } from './answer-questions.ts'
import { createSchemaCompiler } from './compile-schema.ts'

/** A program of its own: the texts of schemas in, reports out. */
const compileSchema = createSchemaCompiler()

// Reading the meta-schema takes longer than most schemas; it must not count against the first one's deadline.
compileSchema({})
answerQuestions((text: string) => compileSchema(JSON.parse(text) as JsonObject))
