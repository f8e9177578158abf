import type { JsonObject } from '@toolrack/contract'
import { answerQuestions } from './answer-questions.ts'
import { createCompileSchema } from './compile-schema.ts'

// A separate program. Its questions are texts of schemas.
const compileSchema = createCompileSchema()

// Reading the meta-schema takes longer than most schemas. It must not count against the first deadline.
compileSchema({})
answerQuestions((text: string) => compileSchema(JSON.parse(text) as JsonObject))
