import type { JsonObject } from '@toolrack/contract'
import { answerQuestions } from './answer-questions.ts'
import { createCompileSchema } from './compile-schema.ts'

// The main program of the process that `SchemaCompilers` starts. A question is the text of a schema.
const compileSchema = createCompileSchema()

// Compiles the meta-schema before the first question. This takes more time than most schemas, and must not count against the
// deadline of the first question.
compileSchema({})
answerQuestions((text: string) => compileSchema(JSON.parse(text) as JsonObject))
